"""Everybody who is here: the newest, those whom most follow, and whom somebody looks for by the beginning of a name.

What a name is found by stands in `users_by_name`, in the order of its members' bytes, so that the names that begin with
the same letters are one range of it. An entry is never believed: it counts while the user goes by that name.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import LONGEST_DISPLAY_NAME, folded, in_one_line, parse
from accounts.users.repository import PERSON, Users, chosen
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import parse_id, whole
from retwis_site.store.local_cache import Memory
from timeline.people.cursors import NameCursor, ScoreCursor, goes_on
from timeline.people.entities import ListedPerson, PeopleList, SearchResult
from timeline.people.follow_pages import PEOPLE_A_PAGE
from timeline.people.join_dates import joined, queue_joined, remembered
from timeline.relations.follow import Follows, followed_uids

LONGEST_WANTED = LONGEST_DISPLAY_NAME
LONGEST_TYPED = 4 * LONGEST_WANTED  # with what is not seen, and with letters and their marks apart
ENTRIES = 60  # that a search reads: most people have two at most
CALLED_SO = 20  # entries of those whose whole name it is, besides
LOOKED_UP = 30  # people whom a search asks about: some may go by other names now

_uids: Memory[str, int] = Memory(size=20_000, seconds=3600)  # by username as typed


class People:
    """Lists of users. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._users = Users(store)

    # ---- a page after the other

    def newest(self, viewer: Viewer, before: NameCursor | None) -> PeopleList:
        """Whoever registered last comes first. Two round trips with hints, three for a later page; one more while it is
        not remembered whose the names are."""
        after = None if before is None else (before.name, before.since)
        rows = self._rows(viewer, keys.users_by_time(), after)
        shown = [(name, whole(when)) for name, when in rows[:PEOPLE_A_PAGE]]
        uids = self._named([name for name, _ in shown])
        listed = self._listed(viewer, uids.values())
        people = []
        for name, when in shown:
            one = listed.get(uids.get(name, 0))
            if one is not None and one.user.username == name:
                _uids.put(name, one.user.uid)
                people.append(replace(one, joined=when))
        return PeopleList(people, str(NameCursor(shown[-1][1], shown[-1][0])) if len(rows) > PEOPLE_A_PAGE else None)

    def most_followed(self, viewer: Viewer, before: ScoreCursor | None) -> PeopleList:
        """Whoever has most followers comes first; nobody who has none. Round trips as above: the one more while it is
        not remembered since when they are here."""
        after = None if before is None else (str(before.uid), before.since)
        rows = self._rows(viewer, keys.users_by_followers(), after)
        shown = [(uid, int(count)) for member, count in rows[:PEOPLE_A_PAGE] if (uid := parse_id(member)) is not None]
        listed = self._listed(viewer, [uid for uid, _ in shown])
        since = self._since([one.user for one in listed.values()])
        people = [replace(listed[uid], joined=since.get(uid)) for uid, _ in shown if uid in listed]
        older = str(ScoreCursor(shown[-1][1], shown[-1][0])) if shown and len(rows) > PEOPLE_A_PAGE else None
        return PeopleList(people, older)

    def _rows(self, viewer: Viewer, key: str, after: tuple[str, int] | None) -> Scored:
        """A page of a sorted set and one more, the highest score first: from its beginning, or after a member that had
        a score."""

        def first(pipe: Pipe, me: int | None) -> None:
            pipe.zrevrange_withscores(key, 0, PEOPLE_A_PAGE)

        if after is None:
            (rows,) = viewer.ask(first)
            return list(rows)
        member, score = after

        def where(pipe: Pipe, me: int | None) -> None:
            pipe.zrevrank(key, member)
            pipe.zscore(key, member)
            pipe.zcount(key, str(score + 1), "+inf")

        start = goes_on(score, *viewer.ask(where))
        return self._store.zrevrange_withscores(key, start, start + PEOPLE_A_PAGE)

    def _named(self, names: Sequence[str]) -> dict[str, int]:
        """Uids by username. At most one round trip; none while all are remembered."""
        known = _uids.some(names)
        asked = [name for name in names if name not in known]
        if asked:
            found = self._store.hmget(keys.users(), [*asked, *(name.lower() for name in asked)])
            pairs = zip(asked, found[: len(asked)], found[len(asked) :], strict=True)
            known |= {name: uid for name, *pair in pairs if (uid := chosen(pair)) is not None}
        return known

    def _since(self, people: Sequence[User]) -> dict[int, int]:
        """When they registered, by uid. At most one round trip; none while all is remembered."""
        known = remembered(people)
        asked = [one for one in people if one.uid not in known]
        pipe = self._store.pipeline()
        if asked:
            queue_joined(pipe, asked)
        for told in pipe.execute():
            known |= joined(asked, told)
        return known

    # ---- looking for somebody

    def found(self, viewer: Viewer, name: str) -> SearchResult:
        """Who has a name, of the two that people have, that begins so; letter case does not matter. First whose
        username it is, then whose whole name it is, then in the order of the names' bytes. Two round trips with hints;
        one where there is nobody. `name`: as `wanted` gives it."""
        beginning = folded(name)

        def questions(pipe: Pipe, me: int | None) -> None:
            pipe.hmget(keys.users(), [name, name.lower()])
            pipe.zrangebylex(keys.users_by_name(), f"[{beginning}:", f"({beginning};", CALLED_SO)
            pipe.zrangebylex(keys.users_by_name(), f"[{beginning}", after(beginning), ENTRIES)

        pair, called_so, entries = viewer.ask(questions)
        theirs = chosen(pair)
        names = _names(called_so, entries, beginning)
        order = list(dict.fromkeys([*([theirs] if theirs else []), *names]))
        listed = self._listed(viewer, order[:LOOKED_UP])
        people = [one for uid, one in listed.items() if uid == theirs or _goes_by(one.user, names.get(uid, set()))]
        more = len(people) > PEOPLE_A_PAGE or len(order) > LOOKED_UP or len(entries) == ENTRIES
        return SearchResult(people[:PEOPLE_A_PAGE], more)

    # ---- both

    def _listed(self, viewer: Viewer, uids: Collection[int]) -> dict[int, ListedPerson]:
        """People by uid, in the order given; without those who have no name, or whose account is deleted. One round
        trip; none for nobody."""
        me = viewer.uid
        asked = list(dict.fromkeys(uids))
        pipe = self._store.pipeline()
        for uid in asked:
            pipe.hmget(keys.user(uid), (*PERSON, "bio"))
            self._follows.queue_followers_count(pipe, uid)
        if me is not None and asked:
            self._follows.queue_which_followed(pipe, me, asked)
        replies = pipe.execute()
        stored, counts = replies[: 2 * len(asked) : 2], replies[1 : 2 * len(asked) : 2]
        mine = followed_uids(asked, replies[-1]) if me is not None and asked else set()
        people = self._users.people_of(asked, [fields[:-1] for fields in stored])
        return {
            uid: ListedPerson(people[uid], fields[-1] or "", followers, None, uid == me, uid in mine)
            for uid, fields, followers in zip(asked, stored, counts, strict=True)
            if uid in people
        }


def wanted(text: str) -> str:
    """What somebody has typed to find people, as names are kept: `  @Ann` is `Ann`. Perhaps nothing."""
    return in_one_line(in_one_line(text[:LONGEST_TYPED]).removeprefix("@"))[:LONGEST_WANTED].rstrip()


def after(beginning: str) -> str:
    """Where the range ends of what begins so, for ZRANGEBYLEX: before the next text that does not. Redis compares
    bytes, which in UTF-8 are in the order of the characters' numbers."""
    for place in reversed(range(len(beginning))):
        number = ord(beginning[place])
        if number < LAST_CHARACTER:
            following = number + 1 if number + 1 not in SURROGATES else SURROGATES.stop
            return f"({beginning[:place]}{chr(following)}"
    return "+"


LAST_CHARACTER = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)  # which are no characters


def _names(called_so: Iterable[str], entries: Iterable[str], beginning: str) -> dict[int, set[str]]:
    """The folded names by which each uid is to be found, as the entries say: in their order, but first whose whole name
    it is."""
    names: dict[int, set[str]] = {}
    for entry in (*called_so, *entries):
        name, uid = parse(entry) or ("", 0)
        names.setdefault(uid, set()).add(name)
    begin_so = {uid: {name for name in theirs if name.startswith(beginning)} for uid, theirs in names.items()}
    whole = [uid for uid, theirs in begin_so.items() if beginning in theirs]
    return {uid: begin_so[uid] for uid in dict.fromkeys((*whole, *begin_so)) if uid and begin_so[uid]}


def _goes_by(user: User, names: set[str]) -> bool:
    return folded(user.username) in names or folded(user.shown_name) in names
