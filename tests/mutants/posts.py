"""Mutants of posts: written, changed, removed, brought back and found."""

from tests.mutants.mutant import DELETED, JOB_FIRST, JOINS, LEFT_OUT, Mutant

CONVERSATIONS = "tests/protocols/test_conversations.py"
MIDDLE = f"{CONVERSATIONS}::test_a_change_between_two_parts_of_another_agrees_with_it"
KILLED = f"{CONVERSATIONS}::test_a_killed_change_has_no_effect_or_its_full_effect"
EDIT_KILLED = (
    "tests/protocols/posts/test_interleaved_notices.py::"
    "test_nobody_has_a_notice_of_a_post_whose_edit_was_killed_at_any_moment_and_that_is_then_deleted"
)
INDEXING = "tests/protocols/test_interleaved_indexing.py"
PICTURES = "tests/protocols/posts/test_interleaved_pictures.py"
REINDEX = (
    f"{INDEXING}::test_a_post_that_is_written_and_indexed_between_two_parts_of_a_reindex_is_found",
    f"{INDEXING}::test_a_post_that_a_worker_indexes_while_a_reindex_goes_on_that_has_not_seen_it_is_found",
)

MUTANTS = [
    Mutant(
        "picture: of two workers, each removes what the other one says is going",
        "accounts/media/upkeep.py",
        "    return bool(is_first.value) or is_left\n",
        "    return bool(is_first.value) or not is_left\n",
        (
            "tests/protocols/posts/test_interleaved_pictures.py::"
            "test_two_workers_with_a_job_each_for_one_picture_remove_none_that_is_posted_meanwhile",
        ),
    ),
    Mutant(
        f"new post: {JOINS}",
        "timeline/posts/delivery.py",
        "        with self._store.pipeline() as pipe:\n            asked = settling.ask_look(pipe, written or",
        "            asked = settling.ask_look(pipe, written or",
        (MIDDLE,),
    ),
    Mutant(
        f"new post: {JOB_FIRST}",
        "timeline/posts/delivery.py",
        "        look, by_tags = self._list(uid, pid, {pid: now})\n",
        "        job.done()\n        look, by_tags = self._list(uid, pid, {pid: now})\n",
        ("tests/protocols/test_crashes.py::test_a_post",),
    ),
    Mutant(
        f"edit: {JOINS}",
        "timeline/posts/repository.py",
        """            listings.agree({pid: now}, answer(job.store, settling.ask_look, {pid: now}))
""",
        """                look = settling.ask_look(pipe, {pid: now})
            listings.agree({pid: now}, look.value)
""",
        (MIDDLE,),
    ),
    Mutant(
        f"edit: {JOB_FIRST}",
        "timeline/posts/repository.py",
        "            listings = settling.Settling(job.store)\n",
        """            job.done()
            listings = settling.Settling(job.store)
""",
        (KILLED,),
    ),
    Mutant(
        "edit: the hash has the new mentions before the notices of the old ones go",
        "timeline/posts/repository.py",
        """            settling.PostNotices(job.store).remove_mentions(cause, told)
            listings = settling.Settling(job.store)
            with job.store.pipeline() as pipe:
                listings.queue(pipe, pid, now, before)
""",
        """            listings = settling.Settling(job.store)
            with job.store.pipeline() as pipe:
                listings.queue(pipe, pid, now, before)
            settling.PostNotices(job.store).remove_mentions(cause, told)
""",
        (EDIT_KILLED,),
    ),
    Mutant(
        f"deletion of a post: {JOB_FIRST}",
        "timeline/posts/repository.py",
        "            edges = _unlist(job.store, uid, pid)\n",
        "            job.done()\n            edges = _unlist(job.store, uid, pid)\n",
        (KILLED,),
    ),
    Mutant(
        f"standing: {JOINS}",
        "timeline/posts/settling.py",
        """            with self._store.pipeline() as pipe:
                for pid, now in changed.items():
                    self.queue(pipe, pid, now, last.get(pid))
            last.update(changed)
            return changed

        def look_again(changed: Mapping[int, PostState]) -> dict[int, PostState]:
            look = answer(self._store, ask_look, changed)
""",
        """            pipe = self._store.pipeline()
            for pid, now in changed.items():
                self.queue(pipe, pid, now, last.get(pid))
            last.update(changed)
            pipes.append(pipe)
            return changed

        pipes: list[Pipe] = []

        def look_again(changed: Mapping[int, PostState]) -> dict[int, PostState]:
            pipe = pipes.pop()
            asked = ask_look(pipe, changed)
            pipe.execute()
            look = asked.value
""",
        (MIDDLE,),
    ),
    Mutant(
        "edit: what it has written of a post whose hash has expired is left",
        "timeline/posts/settling.py",
        "            if not now.exists:  # a late edit",
        "            if now.exists is None:  # a late edit",
        ("tests/timeline/posts/test_deleting_posts.py",),
    ),
    Mutant(
        f"tombstones above: {LEFT_OUT}",
        "timeline/posts/settling.py",
        "            above = [pid for pid, parent in settled.parents.items() if parent.stands_wrong]\n",
        "            above: list[int] = []\n",
        (CONVERSATIONS,),
    ),
    Mutant(
        "tombstones above: they have no jobs",
        "timeline/posts/settling.py",
        "            Outbox(self._store).add_all(jobs)  #",
        "            Outbox(self._store).add_all([])  #",
        (CONVERSATIONS,),
    ),
    Mutant(
        "new post: what was written of a post that is deleted meanwhile is forgotten",
        "timeline/posts/delivery.py",
        "            settling.Settling(self._store).settle([pid], written)\n",
        "            settling.Settling(self._store).settle([pid])\n",
        (MIDDLE,),
    ),
    Mutant(
        "posts of a deleted account: they have no jobs",
        "timeline/posts/repository.py",
        "        leased = Outbox(store).add_all(jobs)\n        settling.mark_deleted(",
        "        leased = Outbox(store).add_all([])\n        settling.mark_deleted(",
        (
            f"{CONVERSATIONS}::test_a_worker_that_is_killed_after_another_one_has_removed_the_account_leaves_right_numbers",
        ),
    ),
    Mutant(
        f"notices of a post: {LEFT_OUT}",
        "timeline/posts/settling.py",
        "        reconcile(look(notices), look, write)\n",
        "        write(look(notices))\n",
        ("tests/protocols/posts/test_interleaved_notices.py",),
    ),
    Mutant(
        "pictures of a post: nobody looks again whether another change came between",
        "timeline/posts/pictures.py",
        "    reconcile(found, lambda written: _look(store, written), write)\n",
        "    write(found)\n",
        (f"{PICTURES}::test_no_change_undoes_another_one",),
    ),
    Mutant(
        f"descriptions of pictures: {JOB_FIRST}",
        "timeline/posts/pictures.py",
        '    job.store.hset(key, {f"{ALT}{digest}"',
        '    job.done()\n    job.store.hset(key, {f"{ALT}{digest}"',
        (f"{PICTURES}::test_a_worker_finishes_the_changes_of_killed_processes",),
    ),
    Mutant(
        f"restored posts: {JOINS}",
        "timeline/account_data/restoring.py",
        """        if leased.hget(keys.user(self._uid), "deleted") is not None:
""",
        """            deleted = pipe.hget(keys.user(self._uid), "deleted")
        if deleted.value is not None:
""",
        (f"{DELETED}[she is restored]",),
    ),
    Mutant(
        "index: the note joins the round trip that writes the records",
        "timeline/search/index.py",
        """        if unfinished.value is not None and terms:
            self._store.hset(keys.search_index(), {f"{LATE}{pid}": "1" for pid in terms})
        divided: dict[Range, Terms] = {}
        for pid, of_post in terms.items():
            divided.setdefault(ranges.of(pid), {})[pid] = of_post
        counted = {}
        with self._store.pipeline() as pipe:
""",
        """        divided: dict[Range, Terms] = {}
        for pid, of_post in terms.items():
            divided.setdefault(ranges.of(pid), {})[pid] = of_post
        counted = {}
        with self._store.pipeline() as pipe:
            if unfinished.value is not None and terms:
                pipe.hset(keys.search_index(), {f"{LATE}{pid}": "1" for pid in terms})
""",
        REINDEX,
    ),
    Mutant(
        "index: a reindex says that it is at work when it has found the posts",
        "timeline/search/rebuilding.py",
        """            forget_progress(self._store)
            last = LARGEST_ID
        self._has_index = any(self._store.scan_keys(kinds.matching("postings:*"), AT_ONCE))
        self._pids = self._all_posts()
""",
        """            last = LARGEST_ID
        self._has_index = any(self._store.scan_keys(kinds.matching("postings:*"), AT_ONCE))
        self._pids = self._all_posts()
        forget_progress(self._store)
""",
        REINDEX,
    ),
    Mutant(
        "index: all jobs of a post have one name",
        "timeline/posts/settling.py",
        '    add_due(pipe, f"index:{pid}:{nonce()}")\n',
        '    add_due(pipe, f"index:{pid}:{0 * len(nonce())}")\n',
        (f"{INDEXING}::test_an_edit_between_two_parts_of_a_workers_job_is_found",),
    ),
    Mutant(
        f"index: {JOB_FIRST}",
        "retwis_site/jobs/worker.py",
        "            together(leased, names)\n        Outbox(leased).finish(names)\n",
        "            Outbox(leased).finish(names)\n            together(leased, names)\n",
        (INDEXING,),
    ),
]
