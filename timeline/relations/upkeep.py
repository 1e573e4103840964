"""The upkeep of relations: their lines in files, what of them goes with an account or a post, and their checks."""

import time
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from math import inf
from typing import NamedTuple

from accounts.community.sanctions import people_at_work
from accounts.users.checks import ask_gone, but_of_lost, unknown
from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance import checks, lines
from retwis_site.maintenance.lines import ID, TIME, rows_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, batches, newest_first
from retwis_site.store.client import Handle, Pipe, Result, Scored, Store, answer, answers, for_each
from retwis_site.store.ids import integer, parse_id, stored_id, stored_score, stored_time
from retwis_site.store.kinds import KINDS, POST, SECONDS, TEXT, THREAD, UNTIL, USER, OfId, may_be
from timeline.relations.edges import Edges, edges_of, remove_mirrors, remove_truths
from timeline.relations.relation import RANKING, Edge, Relation, ask_number, ask_person, ask_post_exists, recount
from timeline.relations.relations import FOLLOW, RELATIONS, REPOST, ask_is_repost, followed_at_work, relations

# ---- The file of a whole site


def lines_of(relation: Relation) -> SiteLines:
    """As the key table tells of the truth. Edges are counted in the end: four round trips for each 500 targets."""

    def count(store: Store) -> Iterator[None]:
        if relation.count is not None and relation.mirror is not None:
            for targets in checks.ids_of(store, relation.mirror):
                recount(store, relation.count, targets)
                yield

    told = REPOSTS if relation is REPOST else lines.lines_of(relation.truth, " ".join(relation.names))
    return replace(told, posts=(relation.names[2],) if relation.leads_to == POST else (), finish=count)


# A repost has an id and a time of its own, which its hash holds. So these lines have code.


def _read_reposts(store: Store) -> Iterator[Line]:
    """A line for each repost, by the user's id, newest first. One round trip for each AT_ONCE, and those of
    `rows_of_users`."""
    for some in batches(rows_of_users(store, keys.reposts), AT_ONCE):
        rows = [
            (uid, pid, own)
            for uid, member, score in some
            if (pid := stored_id(keys.reposts(uid), member)) and (own := stored_score(keys.reposts(uid), member, score))
        ]
        times = _times(store, [own for _, _, own in rows])
        yield from ({"id": own, "user": uid, "post": pid, "time": times[own]} for uid, pid, own in rows)


def _write_reposts(writes: Writes, lines: Sequence[Line]) -> None:
    """Both sides of each repost, and its own post."""
    for line in lines:
        own, uid, pid = line["id"], line["user"], line["post"]
        fields = {"user_id": str(uid), "time": str(seconds(line, "time")), "repost_of": str(pid)}
        writes.hset(keys.post(own), fields)
        writes.zadd(keys.reposts(uid), {str(pid): own})
        writes.zadd(keys.reposted_by(pid), {str(uid): own})
        writes.zadd(keys.updates(uid), {str(own): own})


def _times(store: Store, reposts: Sequence[int]) -> dict[int, str]:
    """The times of reposts, by their ids. One round trip."""
    times = answers(store, lambda pipe, own: pipe.hget(keys.post(own), "time"), reposts)
    return {own: iso(stored_time(keys.post(own), when)) for own, when in times.items()}


REPOSTS = SiteLines(
    type=REPOST.kind,
    fields=lambda line: {"id": ID, "user": ID, "post": ID, "time": TIME},
    read=_read_reposts,
    write=_write_reposts,
    unique=("id",),
    users=("user",),
)
ABOUT_PEOPLE = tuple(lines_of(relation) for relation in RELATIONS if relation.leads_to not in (POST, THREAD))
# These come after the posts.
ABOUT_POSTS = tuple(lines_of(relation) for relation in RELATIONS if relation.leads_to in (POST, THREAD))


# ---- The personal download


Moments = Mapping[str, str | None]  # since or until when, by the member of the truth; None: without an end


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The users that the owner follows, the owner's followers, then the edges of all other relations, each newest
    first. At most four round trips a chunk."""
    sets = [(FOLLOW, "following", keys.following), (FOLLOW, "follower", keys.followers)]
    sets += [(relation, relation.kind, relation.truth) for relation in relations() if relation is not FOLLOW]
    for relation, type_, kind in sets:
        for rows in newest_first(store, kind(owner.uid)):
            moments = _moments(store, relation, kind(owner.uid), rows)
            yield [{"type": type_, **line} for line in _said(store, relation, moments, address_of)]


def _moments(store: Store, relation: Relation, key: str, rows: Scored) -> Moments:
    """One round trip for reposts, else none."""
    good = [(member, score) for member, score in rows if relation.leads_to == TEXT or stored_id(key, member)]
    if not relation.makes_posts:
        return {member: None if score == inf else iso(stored_score(key, member, score)) for member, score in good}
    own = {member: number for member, score in good if (number := stored_score(key, member, score))}
    times = _times(store, list(own.values()))
    return {member: times[number] for member, number in own.items()}


def _said(store: Store, relation: Relation, moments: Moments, address_of: AddressOf) -> Iterator[Line]:
    """What lines say about people and posts, without deleted posts and those of deleted accounts; about tags and words,
    and about threads, by the id of the first post. Two round trips at most."""
    when = "until" if relation.truth.score is UNTIL else "since"
    if relation.leads_to == USER:
        people = Users(store).people([*map(int, moments)])
        known = [(people[int(uid)], moment) for uid, moment in moments.items() if int(uid) in people]
        yield from ({"id": user.uid, "username": user.username, when: moment} for user, moment in known)
    elif relation.leads_to == POST:
        read = answers(store, lambda pipe, pid: pipe.hmget(keys.post(int(pid)), ["user_id", "deleted"]), moments)
        authors = {pid: stored_id(keys.post(int(pid)), uid) or 0 for pid, (uid, gone) in read.items() if gone is None}
        people = Users(store).people({*authors.values()})
        for pid, author in [(pid, people[uid].username) for pid, uid in authors.items() if uid in people]:
            yield {"id": int(pid), when: moments[pid], "address": address_of("post", author, int(pid))}
    elif relation.leads_to == TEXT:
        yield from ({relation.names[2]: text, when: moment} for text, moment in moments.items())
    else:
        yield from ({"id": int(pid), when: moment} for pid, moment in moments.items())


# ---- The edges of a person whom staff has hidden or suspended, or shows again: numbers and notices follow.


def recount_relations(store: Store, uid: int) -> dict[OfId, Callable[[Scored], None]]:
    """Make numbers count the edges from a person and to them, or leave them out, as they stand now; and let the notices
    that they have caused go, or come back. At most twelve round trips a chunk; more where edges end meanwhile."""
    found: dict[OfId, Callable[[Scored], None]] = {}
    for relation in relations():
        if relation.count is None or not isinstance(relation.mirror, OfId):
            continue
        found[relation.truth] = partial(_recount_truths, store, relation, uid)
        if relation.leads_to == USER:
            found[relation.mirror] = partial(_recount_mirrors, store, relation, uid)
    return found


def _recount_truths(store: Store, relation: Relation, uid: int, rows: Scored) -> None:
    scores = {member: score for member, score in rows if relation.is_target(member)}
    edges = edges_of(store, relation, [(uid, member) for member in scores])
    if relation.makes_posts:
        edges = [replace(edge, own_post=integer(scores[edge.target])) for edge in edges]
    Edges(store, relation).mend(edges)


def _recount_mirrors(store: Store, relation: Relation, uid: int, rows: Scored) -> None:
    """Nothing but the numbers follows from the other side, unless an edge ends here: a follower has just left."""
    alone = replace(relation, effects=(), afterwards=partial(_end, relation))
    Edges(store, alone).mend([Edge(who, str(uid), uid) for member, _ in rows if (who := parse_id(member))])


def _end(relation: Relation, store: Store, stand: Mapping[Edge, bool]) -> None:
    """Let all follow from the edges that do not stand. Round trips as for `Edges.mend`; none where all stand."""
    Edges(store, relation).mend([edge for edge, stands in stand.items() if not stands])


# ---- The edges of a deleted account and of deleted posts, removed by a worker a chunk at a time.


def _to_posts() -> Iterator[Relation]:
    return (relation for relation in relations() if relation.mirror and relation.leads_to == POST)


def remove_relations(store: Store, uid: int) -> Iterator[None]:
    """Remove both sides of every edge of a deleted account, in chunks, then the user's place in the ranking."""
    for relation in relations():
        yield from remove_truths(store, relation, uid)
        if relation.mirror and relation.leads_to == USER:
            yield from remove_mirrors(store, relation, {uid: uid})
    recount(store, RANKING, [uid])


def remove_edges_to_posts(store: Store, authors: Mapping[int, int]) -> Iterator[None]:
    """Remove both sides of every edge to deleted posts, in chunks. `authors`: their uids, by post."""
    for relation in _to_posts():
        yield from remove_mirrors(store, relation, authors)


def ask_edges_to_post(pipe: Pipe, pid: int) -> Result[int]:
    """How many edges lead to a post. One command a relation."""
    sizes = [pipe.zcard(relation.mirror.of_member(str(pid))) for relation in _to_posts() if relation.mirror]
    return Result(lambda: sum(size.value for size in sizes))


# ---- Checks of the ranking: `users_by_followers` must have the sizes of the `followers:` sets.


class RankingEntry(NamedTuple):
    """A user, with their score in the ranking and their real number of followers."""

    uid: int
    ranked: float | None  # None: not in the ranking
    followers: int | None  # None: no followers, or no user
    shown: str  # the score as a number


class RankingChecks(checks.Searcher):
    """Searches the ranking. A repair relies on the checks of follows, which run before."""

    def inconsistencies(self) -> list[checks.Check]:
        check_of = partial(
            self._check_of, repair=self._recount, jobs=lambda uid, *_: {checks.AtWork(followed_at_work, uid)}
        )
        return [
            check_of(
                "wrong counts in users_by_followers",
                keys.followers,
                self._followed,
                "user {0} has {2} followers, but is ranked with {3}",
                built=checks.Built(keys.users_by_followers(), self._rank_all),
            ),
            check_of(
                "members of users_by_followers without followers",
                keys.users_by_followers,
                self._idle,
                "user {0} is ranked, but has no followers",
                read=_ranked,
            ),
        ]

    def _rank_all(self) -> None:
        for uids in checks.ids_of(self._store, keys.followers):
            recount(self._store, RANKING, uids)

    def _recount(self, uid: int, *_: object) -> None:
        if unknown(self._store, [uid]):
            self._store.zrem(keys.users_by_followers(), str(uid))
        else:
            recount(self._store, RANKING, [uid])  # the user may have followers by now

    def _followed(self, uids: Iterable[int]) -> list[RankingEntry]:
        """Users with followers whose count in the ranking is missing or wrong."""
        return [entry for entry in self._look(uids) if entry.followers]

    def _idle(self, uids: Iterable[int]) -> list[RankingEntry]:
        """Users without followers, or that do not exist."""
        return [entry for entry in self._look(uids) if not entry.followers]

    def _look(self, uids: Iterable[int]) -> list[RankingEntry]:
        """The users that are miscounted now. One round trip."""
        entries = answers(self._store, _ask_ranked, uids)
        return [entry for entry in entries.values() if entry.ranked != entry.followers]


def _ask_ranked(pipe: Pipe, uid: int) -> Result[RankingEntry]:
    ranked = pipe.zscore(keys.users_by_followers(), str(uid))
    followers = ask_number(pipe, keys.followers(uid))
    exists = pipe.hexists(keys.user(uid), "username")

    def read() -> RankingEntry:
        is_ranked = followers.value and exists.value
        return RankingEntry(uid, ranked.value, followers.value if is_ranked else None, f"{ranked.value or 0:.0f}")

    return Result(read)


def _ranked(store: Store, names: list[str]) -> Iterator[list[int]]:
    return ([uid for member in chunk if (uid := parse_id(member))] for chunk in checks.texts_in(store, names))


# ---- Checks of a relation: its truth and its mirror must agree, and no edge leads from or to what does not exist.


EdgeEntry = tuple[int, int]  # the id in the key of a set, and a member
KNOWN = 100_000  # people that a search of edges remembers; some 150 bytes each


class KnownAccount(NamedTuple):
    """How an account stood when it was first met. A look at what seems to be wrong asks again."""

    exists: bool
    unseen: bool


def _ask_known(pipe: Pipe, uid: int) -> Result[KnownAccount]:
    exists, person = pipe.hexists(keys.user(uid), "username"), ask_person(pipe, str(uid))
    return Result(lambda: KnownAccount(bool(exists.value), person.value.unseen))


GROUPS = 1 << 16  # of edges: 8 bytes each
MASK = (1 << 64) - 1


def _group_of(who: int, target: int) -> int:
    return hash((who, target)) % GROUPS


def restore(store: Store, sides: Iterable[tuple[tuple[str, str], tuple[str, str]]]) -> None:
    """Where a truth is lost, or a repair has removed bad entries of it, its mirror is all that is left of an edge.
    What else only a mirror has is kept under `damaged:` before it goes. `sides`: of each edge, the key and the member
    of the truth, and those of the mirror. At most three round trips."""
    with store.pipeline() as pipe:
        asked = [
            (
                truth,
                mirror,
                pipe.zscore(*truth),
                pipe.zscore(*mirror),
                pipe.type(truth[0]),
                checks.ask_damaged(pipe, truth[0]),
            )
            for truth, mirror in sides
        ]
    restored = []
    with store.pipeline() as pipe:
        for truth, mirror, present, since, type_, damaged in asked:
            if present.value is not None or since.value is None:
                continue
            is_lost = type_.value == "none"
            if is_lost or damaged.value:
                restored.append((truth[0], {truth[1]: stored_score(*mirror, since.value)}))
            if not damaged.value:  # a lost truth is noted before its first edge is back: then all others come back, too
                checks.queue_keep(pipe, *(truth if is_lost else mirror), since.value)
    for_each(store, lambda pipe, one: pipe.zadd_nx(*one), restored)


class EdgeChecks(checks.Searcher):
    """Searches the edges of a relation with a mirror. A repair relies on the checks of accounts, which run before."""

    def __init__(self, store: Store, relation: Relation) -> None:
        assert isinstance(relation.mirror, OfId)
        super().__init__(store)
        self._relation = relation
        self._truth, self._mirror = relation.truth, relation.mirror
        self._people: dict[int, KnownAccount] = {}
        self._adding: array[int] | None = None
        self._sums: array[int] | None = None  # None: not all was compared

    def _ask_people(self, pipe: Pipe, uids: Collection[int]) -> Handle[Mapping[int, KnownAccount]]:
        """How these people stood when this search has first met them, KNOWN at most. Two commands for each new one."""
        if len(self._people) > KNOWN:
            self._people.clear()
        known = self._people
        asked = {uid: _ask_known(pipe, uid) for uid in {*uids} - known.keys()}

        def read() -> Mapping[int, KnownAccount]:
            known.update((uid, answer.value) for uid, answer in asked.items())
            return known

        return Result(read)

    def inconsistencies(self) -> list[checks.Check]:
        sides = ((self._truth, self._mirror), (self._mirror, self._truth))
        both = checks.Check(
            f"{self._truth.word}: beside {self._mirror.word}:", (self._truth, self._mirror), self._add, self._compared
        )
        counted = [own for own, _ in sides if own.main == USER and self._relation.count is not None]
        return [both, *(self._entries(*one) for one in sides), *map(self._counted, counted)]

    def orphans(self) -> list[checks.Check]:
        """For a relation to posts: mirrors of posts that are deleted or do not exist. An older version left them."""
        label = f"{self._relation.kind}s of posts that do not exist"
        look = checks.looking(self._store, self._ask_missing)
        return [self._check_of(label, self._mirror, look, "", self._remove, jobs=lambda pid: {f"del:{pid}"})]

    # Both sides of an edge have the same numbers. The truth adds a number made of them to the sum of its group, and
    # the mirror takes it away: where 0 is left, the two agree, and no command has to ask for each entry.

    def _add(self, names: list[str]) -> checks.Chunks:
        """Finds nothing. An edge that comes or goes meanwhile leaves a sum that is not 0."""
        self._adding = sums = self._adding or array("Q", bytes(8 * GROUPS))
        is_truth = may_be(names[0]) is self._truth
        for chunk in checks.members(self._store, names):
            for number, member, score in chunk:
                who, target = (number, member) if is_truth else (member, number)
                value = hash((who, target, integer(score)))
                group = _group_of(who, target)
                sums[group] = (sums[group] + (value if is_truth else -value)) & MASK
            yield []

    def _compared(self) -> checks.Chunks:
        """Only now, when all keys of both were read, the sums say something."""
        self._sums, self._adding = self._adding, None
        return iter(())

    def _agree(self, own: OfId, number: int, member: int) -> bool:
        who, target = (number, member) if own is self._truth else (member, number)
        return self._sums is not None and not self._sums[_group_of(who, target)]

    def _entries(self, own: OfId, other: OfId) -> checks.Check:
        """Entries of one side that are missing from the other side or have another date there, or whose user does not
        exist."""

        def ask(pipe: Pipe, entry: EdgeEntry) -> Result[bool]:
            number, member = entry
            here = pipe.zscore(own(number), str(member))  # another process may have removed the edge
            there = pipe.zscore(other(member), str(number))
            exists = pipe.hexists(keys.user(member), "username") if own.main == USER else None

            def read() -> bool:
                if here.value is None:
                    return False
                if there.value is None or (exists is not None and not exists.value):
                    return True
                return own is self._truth and integer(here.value) != integer(there.value)  # the mirror has another date

            return Result(read)

        def read_suspects(store: Store, names: list[str]) -> Iterator[list[EdgeEntry]]:
            """The entries of groups that do not agree, or with a user who does not exist: `ask` asks only these. One
            round trip a chunk more where it meets new people."""
            for chunk in checks.pairs(store, names):
                people = answer(store, self._ask_people, {member for _, member in chunk} if own.main == USER else ())
                yield [
                    (number, member)
                    for number, member in chunk
                    if not self._agree(own, number, member) or (own.main == USER and not people[member].exists)
                ]

        label = f"entries of {own.word}: missing from {other.word}:, or unknown"
        look, repair = checks.looking(self._store, ask), partial(self._repair, own, other)
        return self._check_of(label, own, look, repair_all=repair, read=read_suspects)

    def _counted(self, own: OfId) -> checks.Check:
        """People whom a number counts although staff has hidden or suspended them, or the other way round."""

        def ask(pipe: Pipe, entry: EdgeEntry) -> Result[bool]:
            key, member = own(entry[0]), str(entry[1])
            here, left_out = pipe.zscore(key, member), pipe.zscore(keys.unseen(key), member)
            person = ask_person(pipe, member)
            return Result(lambda: here.value is not None and (left_out.value is not None) != person.value.unseen)

        def read_suspects(store: Store, names: list[str]) -> Iterator[list[EdgeEntry]]:
            """Those of which `ask` will find it, most likely. One round trip a chunk more."""
            for chunk in checks.pairs(store, names):
                with store.pipeline() as pipe:
                    by_key = [
                        (number, [uid for _, uid in some]) for number, some in groupby(chunk, lambda entry: entry[0])
                    ]
                    left_out = [pipe.zmscore(keys.unseen(own(number)), [*map(str, uids)]) for number, uids in by_key]
                    asked = self._ask_people(pipe, {uid for _, uid in chunk})
                people, scores = asked.value, chain.from_iterable(reply.value for reply in left_out)
                yield [
                    entry
                    for entry, score in zip(chunk, scores, strict=True)
                    if (score is None) == people[entry[1]].unseen
                ]

        label, look = f"entries of {own.word}: that are counted wrong", checks.looking(self._store, ask)
        repair = partial(self._repair, own, self._mirror if own is self._truth else self._truth)

        def jobs(number: int, member: int) -> set[str | checks.AtWork]:
            return {*own.explained_by(number, str(member)), checks.AtWork(people_at_work, member)}

        return self._check_of(label, own, look, repair_all=repair, read=read_suspects, jobs=jobs)

    def _repair(self, own: OfId, other: OfId, entries: Sequence[EdgeEntry]) -> None:
        """At most fifteen round trips for all together, and more as for `Edges.set`."""
        lost = {*unknown(self._store, {member for _, member in entries})} if own.main == USER else set[int]()
        with self._store.pipeline() as pipe:
            for number, member in entries:
                if member in lost:
                    pipe.zrem(own(number), str(member))
                    pipe.zrem(other(member), str(number))
        known = [(number, member) for number, member in entries if member not in lost]
        if own is self._mirror:
            known = [(who, target) for target, who in known]
            sides = [((self._truth(who), str(target)), (self._mirror(target), str(who))) for who, target in known]
            restore(self._store, sides)
        edges = edges_of(self._store, self._relation, [(who, str(target)) for who, target in known])
        Edges(self._store, self._relation).mend(edges)

    def _ask_missing(self, pipe: Pipe, pid: int) -> Result[bool]:
        exists, size = ask_post_exists(pipe, str(pid)), pipe.zcard(self._mirror(pid))
        return Result(lambda: size.value > 0 and not exists.value)

    def _remove(self, pid: int) -> None:
        author = stored_id(keys.post(pid), self._store.hget(keys.post(pid), "user_id"))
        for _ in remove_mirrors(self._store, self._relation, {pid: author or 0}):
            pass


# ---- Checks of reposts: an edge and the post that it makes must stand together.
#
# `EdgeChecks` compare the two sides of the edge. These compare the edge with its post.


class Repost(NamedTuple):
    """A user, the post that they repost, and the post that the repost is."""

    who: int
    original: int
    own: int


class RepostChecks(checks.Searcher):
    """Searches the posts that reposts are. A repair relies on the checks of the edges, which run before."""

    def inconsistencies(self) -> list[checks.Check]:
        says = f"{keys.post.only_key}:{{2}}, repost of {{1}} by user {{0}}"
        return [
            self._check_of(
                "entries of reposts: whose own post is missing or not listed",
                keys.reposts,
                checks.looking(self._store, _ask_without_post),
                says,
                self._mend,
                read=_edges,
            ),
            self._check_of(
                "listed reposts that reposts: does not name",
                keys.updates,
                checks.looking(self._store, _ask_without_edge),
                says,
                self._mend,
                read=_posts,
                jobs=lambda who, original, _: keys.reposts.explained_by(who, str(original)),
            ),
        ]

    def _mend(self, who: int, original: int, own: int) -> None:
        """An edge without its post is taken back; a post without its edge is withdrawn."""
        [edge] = edges_of(self._store, REPOST, [(who, str(original))])
        Edges(self._store, REPOST).mend([replace(edge, own_post=own)])


def _ask_without_post(pipe: Pipe, one: Repost) -> Result[bool]:
    stands = pipe.zscore(keys.reposts(one.who), str(one.original))
    is_repost = ask_is_repost(pipe, Edge(one.who, str(one.original)), one.own)
    listed = pipe.zscore(keys.updates(one.who), str(one.own))
    return Result(lambda: stands.value == one.own and not (is_repost.value and listed.value is not None))


def _ask_without_edge(pipe: Pipe, one: Repost) -> Result[bool]:
    stands = pipe.zscore(keys.reposts(one.who), str(one.original))
    listed = pipe.zscore(keys.updates(one.who), str(one.own))
    return Result(lambda: listed.value is not None and stands.value != one.own)


def _edges(store: Store, names: list[str]) -> Iterator[list[Repost]]:
    chunks = checks.members(store, names)
    return ([Repost(who, original, integer(own)) for who, original, own in chunk] for chunk in chunks)


def _posts(store: Store, names: list[str]) -> Iterator[list[Repost]]:
    """The reposts among the posts that users list."""
    for chunk in checks.members(store, names):
        originals = answers(store, lambda pipe, row: pipe.hget(keys.post(row[1]), "repost_of"), chunk)
        named = [(who, stored_id(keys.post(own), original), own) for (who, own, _), original in originals.items()]
        yield [Repost(who, original, own) for who, original, own in named if original is not None]


# ---- Checks of other edges, by the key table: entries that lead nowhere or have ended. Pages skip them.


def useless_entries(store: Store) -> list[checks.Check]:
    """For each kind that only its owner can read: entries that lead to users or posts that are deleted or do not exist,
    or to threads of which nothing is left, and entries that have ended."""
    mirrored = {kind.mirrors for kind in KINDS.values()}
    return [
        _useless_entries_of(store, kind)
        for kind in KINDS.values()
        if isinstance(kind, OfId) and kind.of_users and kind.truth and kind not in mirrored
        if kind.main in (USER, POST, THREAD) and kind.score in (SECONDS, UNTIL)
    ]


def _useless_entries_of(store: Store, kind: OfId) -> checks.Check:
    def ask(pipe: Pipe, entry: EdgeEntry) -> Result[bool]:
        owner, member = entry
        if kind.main == POST:
            exists = ask_post_exists(pipe, str(member))
            return Result(lambda: not exists.value)
        if kind.main == THREAD:
            first, replies = pipe.hlen(keys.post(member)), pipe.zcard(keys.thread(member))
            return Result(lambda: not (first.value or replies.value))
        is_gone, until = ask_gone(pipe, member), pipe.zscore(kind(owner), str(member))
        ends = time.time() if kind.score is UNTIL else 0
        return Result(lambda: is_gone.value or (until.value is not None and until.value < ends))

    def look(entries: Sequence[EdgeEntry]) -> list[EdgeEntry]:
        useless = checks.looking(store, ask)(entries)
        return but_of_lost(store, useless, lambda entry: entry[1]) if kind.main == USER else useless

    def remove(owner: int, member: int) -> None:
        if look([(owner, member)]):  # it has not been made again meanwhile
            store.zrem(kind(owner), str(member))

    label = f"entries of {kind.word}: that lead nowhere or have ended"
    return checks.check_of(store, label, kind, look, "", remove, read=checks.pairs)
