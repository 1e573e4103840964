"""Checks of a relation: its truth and its mirror must agree, and no edge leads from or to what does not exist."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.checks.unknown_users import sets_of_unknown_users, unknown
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of, members_of
from retwis_site.maintenance.damaged import ask_damaged
from retwis_site.store import key_kinds, keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_score, whole
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import Relation
from timeline.relations.protocol.removal import edges_of, remove_mirrors
from timeline.relations.protocol.targets import ask_post_exists

Entry = tuple[int, int]  # the id in the key of a set, and a member


@dataclass(frozen=True)
class Side:
    """One of the two sorted sets of an edge."""

    own: Callable[[int], str]
    other: Callable[[int], str]
    has_people: bool  # its members are uids
    ends: Callable[[int, int], tuple[int, int]]  # id of the set, member -> who acts, target

    @property
    def name(self) -> str:
        return self.pattern.removesuffix("*")

    @property
    def pattern(self) -> str:
        return key_kinds.kind_of(self.own(1)) or ""


class EdgeChecks:
    """Searches the edges of a relation with a mirror. A repair relies on the checks of accounts, which run before."""

    def __init__(self, store: Store, relation: Relation) -> None:
        assert relation.mirror is not None
        self._store = store
        self._relation = relation
        self._edges = Edges(store, relation)
        is_person = relation.target.is_person
        self._truth = Side(relation.truth, relation.mirror, is_person, lambda uid, target: (uid, target))
        self._mirror = Side(relation.mirror, relation.truth, True, lambda target, uid: (uid, target))

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        truth, mirror = self._truth, self._mirror
        return [
            Check(f"{self._relation.kind}s of unknown users", self.of_unknown_users, lambda: 2 * size()),
            *(
                Check(
                    f"entries of {side.name} missing from {other.name}, or unknown", partial(self.entries, side), size
                )
                for side, other in ((truth, mirror), (mirror, truth))
            ),
        ]

    def orphans(self) -> list[Check]:
        """For a relation to posts."""
        label = f"{self._relation.kind}s of posts that do not exist"
        return [Check(label, self.of_missing_posts, self._store.dbsize)]

    def of_unknown_users(self) -> Chunks:
        """Sets whose owner does not exist."""
        for side in (self._truth, self._mirror) if self._relation.target.is_person else (self._truth,):
            yield from sets_of_unknown_users(self._store, side.pattern, side.own)

    def entries(self, side: Side) -> Chunks:
        """Entries of one side that are missing from the other side or have another date there, or whose user does not
        exist."""

        def under_way(entry: Entry) -> set[str]:
            who, target = side.ends(*entry)
            at_target = "gone" if self._relation.target.is_person else "del"
            return {f"{self._relation.kind}:{who}:{target}", f"gone:{who}", f"{at_target}:{target}"}

        look = partial(self._wrong, side)
        for chunk in members_of(self._store, side.pattern):
            entries = [(number, member) for number, member, _ in chunk]
            yield [
                Finding(f"{side.own(number)} has {member}", partial(self._repair, side, number, member))
                for number, member in confirmed(self._store, look(entries), under_way, look)
            ]

    def _wrong(self, side: Side, entries: Sequence[Entry]) -> list[Entry]:
        pipe = self._store.pipeline()
        asked = [
            (
                (number, member),
                pipe.zscore(side.own(number), str(member)),  # another process may have removed the edge
                pipe.zscore(side.other(member), str(number)),
                pipe.hexists(keys.user(member), "username") if side.has_people else None,
            )
            for number, member in entries
        ]
        pipe.execute()
        return [
            entry
            for entry, own, other, exists in asked
            if own.value is not None
            and (
                other.value is None
                or (side is self._truth and whole(own.value) != whole(other.value))  # the mirror has another date
                or (exists is not None and not exists.value)
            )
        ]

    def _repair(self, side: Side, number: int, member: int) -> None:
        if side.has_people and unknown(self._store, [member]):
            self._store.zrem(side.own(number), str(member))
            self._store.zrem(side.other(member), str(number))
            return
        who, target = side.ends(number, member)
        if side is self._mirror:
            self._restore(who, target)
        self._edges.mend(edges_of(self._store, self._relation, [(who, str(target))]))

    def _restore(self, who: int, target: int) -> None:
        """Where a repair has removed bad entries of the truth, its mirror is all that is left of an edge."""
        truth, mirror = self._truth.own(who), self._mirror.own(target)
        pipe = self._store.pipeline()
        since, damaged = pipe.zscore(mirror, str(who)), ask_damaged(pipe, truth)
        pipe.execute()
        if damaged.value and since.value is not None:
            self._store.zadd_nx(truth, {str(target): stored_score(mirror, str(who), since.value)})

    def of_missing_posts(self) -> Chunks:
        """Mirrors of posts that are deleted or do not exist. An older version left them."""
        for pids in ids_of(self._store, self._mirror.pattern):
            missing = confirmed(self._store, self._missing(pids), lambda pid: {f"del:{pid}"}, self._missing)
            yield [Finding(self._mirror.own(pid), partial(self._remove, pid)) for pid in missing]

    def _missing(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        asked = [(pid, ask_post_exists(pipe, str(pid)), pipe.zcard(self._mirror.own(pid))) for pid in pids]
        pipe.execute()
        return [pid for pid, exists, size in asked if size.value and not exists.value]

    def _remove(self, pid: int) -> None:
        author = stored_id(keys.post(pid), self._store.hget(keys.post(pid), "user_id"))
        for _ in remove_mirrors(self._store, self._relation, {pid: author or 0}):
            pass
