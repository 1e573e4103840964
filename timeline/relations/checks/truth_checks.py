"""Checks of a relation without a mirror: no edge leads from whom or to what does not exist."""

import time
from collections.abc import Sequence
from functools import partial

from accounts.users.checks.unknown_users import sets_of_unknown_users, unknown
from retwis_site.maintenance.checks import Check, Chunks, Finding, members_of
from retwis_site.store import key_kinds
from retwis_site.store.client import Store
from timeline.relations.protocol.relation import Relation, Scores
from timeline.relations.protocol.targets import ask_post_exists

Entry = tuple[int, int]  # the person, the target


class TruthChecks:
    """Searches the edges of a relation that has only its truth. Pages skip an edge to what is not there, so it is no
    more than an orphan."""

    def __init__(self, store: Store, relation: Relation) -> None:
        self._store = store
        self._relation = relation
        self._pattern = key_kinds.kind_of(relation.truth(1)) or ""

    def inconsistencies(self) -> list[Check]:
        """Sets whose owner does not exist."""
        search = partial(sets_of_unknown_users, self._store, self._pattern, self._relation.truth)
        return [Check(f"{self._pattern.removesuffix('*')} of unknown users", search, self._store.dbsize)]

    def orphans(self) -> list[Check]:
        """Edges to unknown users, or to posts that are deleted or do not exist, and edges that have ended."""
        if not (self._relation.target.is_person or self._relation.target.has_author):
            return []
        name = self._pattern.removesuffix("*")
        return [Check(f"entries of {name} that lead nowhere or have ended", self.useless, self._store.dbsize)]

    def useless(self) -> Chunks:
        for chunk in members_of(self._store, self._pattern):
            yield [
                Finding(f"{self._relation.truth(who)} has {target}", partial(self._remove, who, target))
                for who, target in sorted(self._ended(chunk) | self._to_nothing([entry[:2] for entry in chunk]))
            ]

    def _ended(self, chunk: Sequence[tuple[int, int, float]]) -> set[Entry]:
        if self._relation.scores is not Scores.UNTIL:
            return set()
        now = time.time()
        return {(who, target) for who, target, until in chunk if until < now}

    def _to_nothing(self, entries: Sequence[Entry]) -> set[Entry]:
        targets = sorted({target for _, target in entries})
        if self._relation.target.is_person:
            missing = set(unknown(self._store, targets))
        else:
            missing = self._missing_posts(targets)
        return {entry for entry in entries if entry[1] in missing}

    def _missing_posts(self, pids: Sequence[int]) -> set[int]:
        pipe = self._store.pipeline()
        exist = {pid: ask_post_exists(pipe, str(pid)) for pid in pids}
        pipe.execute()
        return {pid for pid, exists in exist.items() if not exists.value}

    def _remove(self, who: int, target: int) -> None:
        """Remove an entry; a mute only if it has not been set again meanwhile."""
        if self._relation.scores is Scores.UNTIL:
            until = self._store.zscore(self._relation.truth(who), str(target))
            if until is not None and until > time.time() and not unknown(self._store, [target]):
                return
        self._store.zrem(self._relation.truth(who), str(target))
