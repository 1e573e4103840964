"""Mutants of accounts: joining, names, passwords and their deletion."""

from tests.mutants.mutant import DELETED, EARLY, JOB_FIRST, JOINS, Mutant

INTERLEAVINGS = "tests/protocols/test_interleavings.py"
NAMES = f"{INTERLEAVINGS}::test_the_name_index_agrees_with_the_display_names"
REMOVAL = "tests/accounts/users/test_removal.py::test_after_a_kill_at_any_step_another_worker_finishes"
JOINING = "tests/protocols/test_joining.py"
ANSWERS = f"{JOINING}::test_two_moderators_who_answer_at_once"

MUTANTS = [
    Mutant(
        f"registration: {JOINS}",
        "accounts/users/accounts.py",
        """        if self._store.hget(keys.user(uid), "deleted") is not None:  # read after the write
""",
        """            deleted = pipe.hget(keys.user(uid), "deleted")
        if deleted.value is not None:
""",
        (f"{DELETED}[her registration is finished]",),
    ),
    Mutant(
        f"display name: {JOINS}",
        "accounts/users/names.py",
        """            return seen

        reconcile(self.stored(old), self.stored, write)
""",
        """                asked.update((uid, pipe.hmget(keys.user(uid), StoredNames._fields)) for uid in seen)
            return seen

        asked = {}
        reconcile(self.stored(old), lambda seen: {uid: StoredNames(*asked[uid].value) for uid in seen}, write)
""",
        (NAMES,),
    ),
    Mutant(
        f"password: {JOB_FIRST}",
        "accounts/signing_in/sessions/repository.py",
        "            Sessions(job.store).settle(uid, old, stored.value)\n",
        "            job.done()\n            Sessions(job.store).settle(uid, old, stored.value)\n",
        ("tests/protocols/test_crashes.py::test_the_end_of_all_sessions",),
    ),
    Mutant(
        "password: a change writes no generation, and ends the sessions one by one",
        "accounts/signing_in/sessions/repository.py",
        '            Sessions(store)._rotate(uid, secret, {**changed, "generation": generation})\n',
        """            Sessions(store)._rotate(uid, secret, changed)
        stored = self._store.hgetall(keys.user(uid))
        self.remove(uid, {name.removeprefix(SESSIONS.first) for name in stored if name.startswith(SESSIONS.first)})
""",
        (f"{INTERLEAVINGS}::test_after_logouts_and_a_password_change_one_secret_signs_in",),
    ),
    Mutant(
        "password: a form overrules what stands by then",
        "accounts/signing_in/sessions/repository.py",
        "            if present not in (None, replaced):\n",
        "            if present and not replaced:\n",
        (f"{INTERLEAVINGS}::test_no_form_with_the_old_password_overrules_a_recovery",),
    ),
    Mutant(
        "password: a form and a recovery are at work together",
        "accounts/signing_in/sessions/repository.py",
        "        with alone_with_sessions(self._store, uid) as store:\n",
        "        for store in [self._store]:\n",
        (
            "tests/protocols/test_three_at_once.py::test_of_two_forms_and_a_recovery_the_recovery_stands_with_its_session",
        ),
    ),
    Mutant(
        "code of an app: the last one is read, and then replaced",
        "accounts/second_factor/repository.py",
        "        return step is not None and bool(self._store.zadd_gt(keys.factor_uses(uid), totp.use, step))\n",
        """        if step is None or (self._store.zscore(keys.factor_uses(uid), totp.use) or 0) >= step:
            return False
        self._store.zadd(keys.factor_uses(uid), {totp.use: step})
        return True
""",
        ("tests/protocols/test_interleaved_factors.py::test_nothing_serves_twice",),
    ),
    Mutant(
        f"app: {EARLY}",
        "accounts/second_factor/repository.py",
        """        [(name, value)] = field.items()
        if not self._store.hsetnx(keys.credentials(uid), name, value):
            raise AlreadyThere
        self._is_kept(uid)
""",
        """        [(name, value)] = field.items()
        if self._is_kept(uid) and not self._store.hsetnx(keys.credentials(uid), name, value):
            raise AlreadyThere
""",
        (f"{DELETED}[she adds an app]",),
    ),
    Mutant(
        f"old password: {EARLY}",
        "accounts/signing_in/sessions/repository.py",
        """            pipe.hsetnx(keys.user(uid), "password", password)
            deleted = pipe.hget(keys.user(uid), "deleted")
""",
        """            deleted = pipe.hget(keys.user(uid), "deleted")
            pipe.execute()
            pipe.hsetnx(keys.user(uid), "password", password)
""",
        (f"{DELETED}[her old password is replaced]",),
    ),
    Mutant(
        "deletion of an account: what leads to the posts goes before they are marked",
        "timeline/posts/repository.py",
        "        settling.mark_deleted(leased, own)\n",
        "        remove_members(store, key, members)\n        settling.mark_deleted(leased, own)\n",
        (REMOVAL,),
    ),
    Mutant(
        f"invitation: {EARLY}",
        "accounts/joining/joining.py",
        """            taken = pipe.zcard(key)
        if taken.value > invitation.uses:
""",
        """            taken = self._store.zcard(key)
        if taken >= invitation.uses:
""",
        (f"{JOINING}::test_an_invitation_lets_in_as_many_as_it_says",),
    ),
    Mutant(
        "application: it is removed before the account is made",
        "accounts/community/acts.py",
        "        uid = self._make_account(asked, act.id) if act.what == APPROVED else None\n",
        """        self._store.hdel(keys.applications(), name)
        uid = self._make_account(asked, act.id) if act.what == APPROVED else None
""",
        (ANSWERS, "tests/protocols/test_joining.py::test_an_approval"),
    ),
    Mutant(
        f"application: {JOB_FIRST}",
        "accounts/community/acts.py",
        "        won = job.store.hsetnx(",
        "        job.done()\n        won = job.store.hsetnx(",
        (ANSWERS, "tests/protocols/test_joining.py::test_an_approval"),
    ),
]
