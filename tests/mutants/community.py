"""Mutants of what staff does: sanctions, roles, the site's words, reports and deleted posts."""

from tests.mutants.mutant import DELETED, EARLY, JOB_FIRST, JOINS, LEFT_OUT, Mutant

INTERLEAVED = "tests/protocols/moderation/test_interleaved_moderation.py"
SANCTIONS = (
    f"{INTERLEAVED}::test_what_is_imposed_agrees_with_the_log",
    f"{INTERLEAVED}::test_nobody_is_deleted_whose_appeal_waits_or_is_granted",
)
ROLES = (
    f"{INTERLEAVED}::test_an_admin_is_left_and_pages_read_the_role_in_staff",
    f"{INTERLEAVED}::test_each_change_of_the_sites_words_is_in_the_log_and_the_last_one_stands",
)
REPORTS = (
    f"{INTERLEAVED}::test_the_queue_has_the_open_reports_and_each_decision_is_carried_out",
    f"{INTERLEAVED}::test_a_post_that_staff_has_deleted_is_in_the_log",
)
ACTS = "tests/protocols/moderation/test_acts_in_the_middle.py"
MIDDLE = f"{ACTS}::test_an_act_in_the_middle_of_another_agrees_with_it"
KILLED = "tests/protocols/test_leases.py::test_a_killed_write_has_no_effect_or_its_full_effect"
NUMBERS = "tests/protocols/moderation/test_interleaved_numbers.py"
AT_ONCE = "tests/protocols/test_three_at_once.py::"
PICTURE = (
    "tests/protocols/posts/test_interleaved_pictures.py::"
    "test_a_profile_picture_that_comes_while_staff_removes_the_one_before_stays"
)
DELETED_MEANWHILE = f"{ACTS}::test_a_killed_report_about_an_account_that_is_deleted_meanwhile_goes_again"

MUTANTS = [
    Mutant(
        "role: an admin loses the sanction while a moderator imposes it",
        "accounts/community/acts.py",
        "        with alone_with(self._store, uid) as store:\n",
        "        for store in [self._store]:\n",
        (MIDDLE, *SANCTIONS),
    ),
    Mutant(
        "sanction: no worker makes numbers follow",
        "accounts/community/sanctions.py",
        "    Log(store).copy(keys.user(uid), act_id)\n    recount_later(store, uid)\n",
        "    Log(store).copy(keys.user(uid), act_id)\n",
        (NUMBERS,),
    ),
    Mutant(
        "numbers: they count the posts of hidden people",
        "timeline/posts/settling.py",
        "        for key in stands_in | left:\n            queue_counted",
        "        for key in left:\n            queue_counted",
        (NUMBERS,),
    ),
    Mutant(
        "sanction: two moderators are at work together",
        "accounts/community/sanctions.py",
        '    return alone(store, f"sanctions:{uid}")\n',
        "    return __import__('contextlib').nullcontext(store)\n",
        (f"{AT_ONCE}test_of_three_forms_that_show_one_sanction_one_replaces_it",),
    ),
    Mutant(
        "appeal: what was granted ends what stands by then",
        "accounts/community/sanctions.py",
        "            if act.what == GRANTED and present == act_id:\n",
        "            if act.what == GRANTED and present:\n",
        (f"{AT_ONCE}test_a_granted_appeal_whose_process_dies_ends_nothing_that_comes_before_its_worker",),
    ),
    Mutant(
        "sanction: a form replaces or lifts what stands by then",
        "accounts/community/sanctions.py",
        '    if shown not in (None, standing.imposed.act_id if standing is not None else ""):\n',
        "    if standing is None and shown:\n",
        (f"{ACTS}::test_a_form_replaces_or_lifts_no_sanction_that_it_has_not_shown",),
    ),
    Mutant(
        "sanction: a late worker asks the log alone what was imposed since",
        "accounts/community/sanctions.py",
        "        log.copy_all(keys.user(uid))\n",
        "",
        (f"{ACTS}::test_a_worker_replaces_no_later_one_whose_process_was_killed_too",),
    ),
    Mutant(
        "profile: staff removes the picture that stands by then",
        "retwis_site/store/chunks.py",
        "        pipe.hsetnx(key, name, text)\n",
        "        pass\n",
        (PICTURE,),
    ),
    Mutant(
        f"appeal: {JOINS}",
        "accounts/community/sanctions.py",
        """        self._store.zadd(keys.appeals(), {appeal.member: appeal.at})
        self.keep_if_open(appeal)  # read after the write
""",
        """        pipe = self._store.pipeline()
        pipe.zadd(keys.appeals(), {appeal.member: appeal.at})
        asked = pipe.hgetall(keys.user(appeal.uid))
        pipe.execute()
        present = case_in(appeal.uid, asked.value)
        if present is None or not present.is_asked or present.imposed.act_id != appeal.act:
            self._store.zrem(keys.appeals(), appeal.member)
""",
        (f"{DELETED}[she appeals]",),
    ),
    Mutant(
        f"answer to an appeal: {JOB_FIRST}",
        "accounts/community/sanctions.py",
        "                Sanctions(job.store).finish_answer(uid, act_id)\n",
        "                job.done()\n                Sanctions(job.store).finish_answer(uid, act_id)\n",
        (KILLED,),
    ),
    Mutant(
        "answer to an appeal: two moderators have one job between them",
        "accounts/community/sanctions.py",
        '            job = Outbox(store).add(f"answer:{uid}:{act_id}:{act.id}")\n',
        '            job = Outbox(store).add(f"answer:{uid}:{act_id}:0")\n',
        (f"{ACTS}::test_an_answer_that_is_killed_while_a_worker_finishes_another_one_is_in_the_log",),
    ),
    Mutant(
        "end of a suspension: a second round trip reads whether an appeal waits",
        "accounts/community/checks.py",
        "    due = _due(present)\n",
        """    waits = store.zscore(keys.appeals(), f"{uid}:{act_id}") is not None
    due = int(time.time()) + A_DAY if waits else present.imposed.deleted_at + GRACE
""",
        SANCTIONS[1:],
    ),
    Mutant(
        f"role: {EARLY}",
        "accounts/community/acts.py",
        """            pipe.hset(keys.staff(), {mark: str(uid)})
            stored = pipe.hgetall(keys.staff())
""",
        """            stored = pipe.hgetall(keys.staff())
            pipe.execute()
            pipe.hset(keys.staff(), {mark: str(uid)})
""",
        (MIDDLE, *ROLES),
    ),
    Mutant(
        "role: the mark is removed before the work",
        "accounts/community/acts.py",
        "        self.follow(uid)\n        Log(",
        """        self._store.hdel(keys.staff(), f"{MARK}{act_id}")
        Outbox(self._store).done(f"role:{uid}:{act_id}")
        self.follow(uid)
        Log(""",
        ROLES,
    ),
    Mutant(
        f"log: {LEFT_OUT}",
        "accounts/community/log.py",
        "            Users(self._store).keeps(whom, keys.acts(whom))\n",
        "            Users(self._store).keeps(whom)\n",
        (*ROLES, *SANCTIONS),
    ),
    Mutant(
        "the site's words: an emptied field is removed",
        "accounts/community/acts.py",
        "        Log(job.store).copy(keys.site(), act.id)\n",
        """        for name in [name for name, text in fields.items() if not text]:
            job.store.hdel(keys.site(), name)
        Log(job.store).copy(keys.site(), act.id)
""",
        ROLES,
    ),
    Mutant(
        f"the site's words: {JOB_FIRST}",
        "accounts/community/acts.py",
        "    job.store.hset(keys.site(), {**fields, **act.evidence()})\n",
        "    job.store.hset(keys.site(), {**fields, **act.evidence()})\n    job.done()\n",
        ROLES,
    ),
    Mutant(
        f"report: {EARLY}",
        "timeline/moderation/reports.py",
        """        self._store.zadd(keys.reports_about(whom), {str(rid): rid})
        self._store.zadd(keys.reports(), {str(rid): rid})
        with self._store.pipeline() as pipe:  # read after the write
            decision = pipe.hget(keys.report(rid), "decision")
            mark = pipe.hget(keys.post(report.about.pid or 0), "deleted")
        if decision.value is not None:
            self._store.zrem(keys.reports(), str(rid))
        elif mark.value is not None and deleted_by(mark.value) is DeletedBy.STAFF:
            self._decide_too(report)
        if _gone(self._store, (report.who, whom)):
""",
        """        gone = _gone(self._store, (report.who, whom))
        self._store.zadd(keys.reports_about(whom), {str(rid): rid})
        self._store.zadd(keys.reports(), {str(rid): rid})
        with self._store.pipeline() as pipe:
            decision = pipe.hget(keys.report(rid), "decision")
            mark = pipe.hget(keys.post(report.about.pid or 0), "deleted")
        if decision.value is not None:
            self._store.zrem(keys.reports(), str(rid))
        elif mark.value is not None and deleted_by(mark.value) is DeletedBy.STAFF:
            self._decide_too(report)
        if gone:
""",
        REPORTS,
    ),
    Mutant(
        f"report in the queue: {JOINS}",
        "timeline/moderation/reports.py",
        """        self._store.zadd(keys.reports(), {str(rid): rid})
        with self._store.pipeline() as pipe:  # read after the write
""",
        """        with self._store.pipeline() as pipe:
            pipe.zadd(keys.reports(), {str(rid): rid})
""",
        (MIDDLE, *REPORTS),
    ),
    Mutant(
        "report about a post that a decision deletes meanwhile: it stays open",
        "timeline/moderation/reports.py",
        "        elif mark.value is not None and deleted_by(mark.value) is DeletedBy.STAFF:\n",
        "        elif mark.value == '':\n",
        (f"{ACTS}::test_a_report_about_a_post_that_a_decision_deletes_meanwhile_is_decided_with_it",),
    ),
    Mutant(
        "report about a deleted account: what leads to it goes before it",
        "timeline/moderation/upkeep.py",
        "            forget(store, report)",
        """            store.zrem(key, str(report.rid))
            forget(store, report)""",
        REPORTS,
    ),
    Mutant(
        "report of a deleted account: the claim goes in the round trip that takes it out of the queue",
        "timeline/moderation/reports.py",
        """    store.zrem(keys.reports(), str(report.rid))
    if report.who is not None:
        store.zremrangebyscore(keys.reports_by(report.who), str(report.rid), str(report.rid))
    store.unlink""",
        """    pipe = store.pipeline()
    pipe.zrem(keys.reports(), str(report.rid))
    if report.who is not None:
        pipe.zremrangebyscore(keys.reports_by(report.who), str(report.rid), str(report.rid))
    pipe.execute()
    store.unlink""",
        (DELETED_MEANWHILE, *REPORTS),
    ),
    Mutant(
        f"decision: {JOB_FIRST}",
        "timeline/moderation/reports.py",
        "        with suppress(LeaseEnded):\n            for number,",
        "        job.done()\n        with suppress(LeaseEnded):\n            for number,",
        (KILLED,),
    ),
    Mutant(
        f"deletion by staff: {JOB_FIRST}",
        "timeline/posts/repository.py",
        "        Log(job.store).write(act)\n",
        "        job.done()\n        Log(job.store).write(act)\n",
        (KILLED,),
    ),
]
