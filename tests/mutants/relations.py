"""Mutants of relations, of the lists that are made of posts, and of leases."""

from tests.mutants.mutant import JOB_FIRST, JOINS, LEFT_OUT, Mutant

RELATIONS = "tests/protocols/test_relations.py"
MIDDLE = f"{RELATIONS}::test_a_change_between_two_parts_of_another_agrees_with_it"
TAKEN_BACK = f"{RELATIONS}::test_the_deletion_of_what_an_edge_leads_to_is_finished_whatever_kills_it"
LATER = "tests/protocols/test_leases.py::test_an_owner_changes_nothing_after_its_lease"
KILLED = f"{RELATIONS}::test_a_change_that_is_killed_has_no_effect_or_its_full_effect"
NOTICES = "tests/protocols/posts/test_interleaved_notices.py"
LEASES = "tests/retwis_site/jobs/test_worker.py::test_a_worker_writes_nothing_for_a_claim_whose_lease_has_ended"
EDGES = "timeline/relations/edges.py"

MUTANTS = [
    Mutant(
        "numbers after a sanction: an edge that ends leaves its notice",
        "timeline/relations/upkeep.py",
        "replace(relation, effects=(), afterwards=partial(_end, relation))",
        "replace(relation, effects=())",
        (
            "tests/protocols/moderation/test_interleaved_numbers.py::"
            "test_a_follower_who_leaves_in_the_middle_of_the_worker_s_part_leaves_no_notice",
        ),
    ),
    Mutant(
        f"relation: {JOINS}",
        EDGES,
        "        reconcile(seen, look, self._write)\n",
        """        early: dict[Edge, EdgeState] = {}

        def write(found: Mapping[Edge, EdgeState]) -> dict[Edge, EdgeState]:
            early.clear()
            early.update(look(found))
            return self._write(found)

        reconcile(seen, lambda written: early.copy(), write)
""",
        (MIDDLE,),
    ),
    Mutant(
        f"relation: {JOB_FIRST}",
        EDGES,
        """        with suppress(LeaseEnded):
            Edges(job.store, self._relation)._finish(look.value, [job.name])
""",
        """        job.done()
        with suppress(LeaseEnded):
            Edges(job.store, self._relation)._finish(look.value, [job.name])
""",
        (KILLED,),
    ),
    Mutant(
        "relation: the commit has no lease",
        EDGES,
        """        pipe = job.store.pipeline()
        if self._relation.truth.score is UNTIL:  # else the date of an edge that stands is kept
""",
        """        pipe = self._store.pipeline()
        if self._relation.truth.score is UNTIL:  # else the date of an edge that stands is kept
""",
        (LATER,),
    ),
    Mutant(
        "repost: it is withdrawn after the edge that alone leads to it",
        EDGES,
        """        for effect in self._relation.effects:
            effect.withdraw(self._store, refused)
        with self._store.pipeline() as pipe:
            for edge, score in refused.items():
                self._queue_removal(pipe, edge, score)
""",
        """        with self._store.pipeline() as pipe:
            for edge, score in refused.items():
                self._queue_removal(pipe, edge, score)
        for effect in self._relation.effects:
            effect.withdraw(self._store, refused)
""",
        (TAKEN_BACK,),
    ),
    Mutant(
        f"count: {JOINS}",
        "timeline/relations/relation.py",
        "    reconcile(numbers, lambda targets: answers(store, count.ask, targets), write)\n",
        """    early: dict[int, int] = {}

    def joined(found: Mapping[int, int]) -> Mapping[int, int]:
        early.clear()
        early.update(answers(store, count.ask, found))
        return write(found)

    reconcile(numbers, lambda written: early.copy(), joined)
""",
        (MIDDLE,),
    ),
    Mutant(
        "repost: an undo removes the repost that a later click has made",
        EDGES,
        "        if self._relation.makes_posts:\n            pipe.zremrangebyscore",
        "        if False:\n            pipe.zremrangebyscore",
        (f"{RELATIONS}::test_an_undo_leaves_the_repost_that_a_later_click_has_made_meanwhile",),
    ),
    Mutant(
        "count: 0 is written",
        "timeline/relations/relation.py",
        "            pipe.hdel(keys.post(target), self.name)\n",
        '            pipe.hset(keys.post(target), {self.name: "0"})\n',
        (f"{RELATIONS}::test_no_count_makes_the_hash_of_a_post_that_expires",),
    ),
    Mutant(
        "edges of a deleted account: they have no jobs",
        EDGES,
        "        leased = self._outbox.add_all(jobs)\n",
        "        leased = self._outbox.add_all([])\n",
        (f"{RELATIONS}::test_a_removal_that_is_killed_beside_an_edge_under_way_leaves_right_counts",),
    ),
    Mutant(
        "block: the follows are looked at only while it stands",
        "timeline/relations/relations.py",
        "    pairs = [(edge.who, edge.owner) for edge in stand]\n",
        "    pairs = [(edge.who, edge.owner) for edge in stand if stand[edge]]\n",
        (f"{RELATIONS}::test_a_change_that_is_killed_and_undone_before_a_worker_finishes_it_leaves_nothing",),
    ),
    Mutant(
        "follow: no look asks for blocks",
        "timeline/relations/relations.py",
        "    conditions=(ask_not_blocked,),\n",
        "    conditions=(),\n",
        (NOTICES,),
    ),
    Mutant(
        f"block: {LEFT_OUT}",
        "timeline/relations/relations.py",
        "    Edges(store, FOLLOW).reconcile(follows)\n",
        "    Edges(store, FOLLOW).reconcile([])\n",
        (NOTICES,),
    ),
    Mutant(
        "lease: what was claimed or added is written without it",
        "retwis_site/jobs/lease.py",
        "if time.monotonic() > self._ends:",
        "if False:",
        (LEASES,),
    ),
    Mutant(
        "lease: a worker does not look at that of its claim",
        "retwis_site/jobs/outbox.py",
        "            Claim(leased[name], name,",
        "            Claim(self._store, name,",
        (LEASES,),
    ),
]
