"""The directory of all users: the newest, the most followed, and a search by the beginning of a name.

`users_by_name` holds an entry for each name that finds a user. Redis orders the entries by their bytes, so the names
with a common beginning are one range. An entry alone proves nothing: it counts while the user still has the name.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import LONGEST_DISPLAY_NAME, folded, in_one_line, parse
from accounts.users.repository import ask_owner, ask_owners
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import stored_rows, stored_score
from retwis_site.store.local_cache import Memory
from timeline.people.cursors import NameCursor, ScoreCursor, ask_start_rank
from timeline.people.entities import ListedPerson, PeopleList, SearchResult
from timeline.people.follow_pages import PEOPLE_A_PAGE
from timeline.people.join_dates import ask_join_dates
from timeline.people.listed import ask_listed
from timeline.relations.protocol.blocks import ask_blocked

LONGEST_QUERY = LONGEST_DISPLAY_NAME  # characters
LONGEST_INPUT = 4 * LONGEST_QUERY  # characters, with invisible ones, and with combining marks apart from letters
PREFIX_ENTRIES = 60  # entries that begin with the query; most users have at most two
EXACT_ENTRIES = 20  # entries that are the query; they are read besides
USERS_LOOKED_UP = 30  # users that a search loads, a few more than a page: some may have other names now

# By username, with its letter case. An entry has 300 bytes, so all have 1.5 MB.
_uids: Memory[str, int] = Memory(size=5000, seconds=3600)


class People:
    """Lists of users. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # ---- pages

    def newest(self, viewer: Viewer, before: NameCursor | None) -> PeopleList:
        """A page of users, the newest first. Two round trips with cached uids, three for a later page; one more while
        the uids of the page's names are not cached."""
        after = None if before is None else (before.name, before.since)
        rows = self._rows(viewer, keys.users_by_time(), after)
        shown = [(name, stored_score(keys.users_by_time(), name, when)) for name, when in rows[:PEOPLE_A_PAGE]]
        uids = self._uids_of([name for name, _ in shown])
        listed = self._listed(viewer, uids.values())
        people = []
        for name, when in shown:
            person = listed.get(uids.get(name, 0))
            if person is not None and person.user.username == name:
                _uids.put(name, person.user.uid)
                people.append(replace(person, joined=when))
        return PeopleList(people, str(NameCursor(shown[-1][1], shown[-1][0])) if len(rows) > PEOPLE_A_PAGE else None)

    def most_followed(self, viewer: Viewer, before: ScoreCursor | None) -> PeopleList:
        """A page of users, the most followed first; without users that have no followers. Two round trips with cached
        uids, three for a later page; one more while the join dates are not cached."""
        after = None if before is None else (str(before.uid), before.score)
        rows = self._rows(viewer, keys.users_by_followers(), after)
        shown = stored_rows(keys.users_by_followers(), rows[:PEOPLE_A_PAGE])
        listed = self._listed(viewer, [uid for uid, _ in shown])
        dates = self._join_dates([person.user for person in listed.values()])
        people = [replace(listed[uid], joined=dates.get(uid)) for uid, _ in shown if uid in listed]
        older = str(ScoreCursor(shown[-1][1], shown[-1][0])) if shown and len(rows) > PEOPLE_A_PAGE else None
        return PeopleList(people, older)

    def _rows(self, viewer: Viewer, key: str, after: tuple[str, int] | None) -> Scored:
        """The rows of a page and one more, the highest score first: from the beginning of a sorted set, or after a
        member and the score that it had. One round trip, two with `after`."""

        if after is None:
            return viewer.ask(partial(_FirstRows, key))
        member, score = after
        start = viewer.ask(partial(_StartRank, key, member, score))
        return self._store.zrevrange_withscores(key, start, start + PEOPLE_A_PAGE)

    def _uids_of(self, names: Sequence[str]) -> dict[str, int]:
        """Uids by username. At most one round trip; none while all are cached."""
        uids = _uids.some(names)
        missing = [name for name in names if name not in uids]
        if missing:
            pipe = self._store.pipeline()
            owners = ask_owners(pipe, missing)
            pipe.execute()
            uids |= owners.value
        return uids

    def _join_dates(self, people: Sequence[User]) -> dict[int, int]:
        """Join dates (unix seconds) by uid. At most one round trip; none while all are cached."""
        pipe = self._store.pipeline()
        dates = ask_join_dates(pipe, people)
        pipe.execute()
        return dates.value

    def without_blocked(self, me: int, names: Sequence[str]) -> list[str]:
        """These usernames, without those of people with a block between them and `me`. At most two round trips."""
        uids = self._uids_of(names)
        pipe = self._store.pipeline()
        blocked = ask_blocked(pipe, me, [*uids.values()])
        pipe.execute()
        return [name for name in names if uids.get(name) not in blocked.value]

    # ---- search

    def search(self, viewer: Viewer, query: str) -> SearchResult:
        """The users whose username or display name begins with `query`, in any letter case; `query`: from
        `search_query`. Two round trips with cached uids; one when nothing matches.

        The user with this username comes first, then users with exactly this name, then the others by the bytes of
        their names.
        """
        prefix = folded(query)

        owner, exact, entries = viewer.ask(partial(_Entries, query, prefix))
        names = _names_by_uid(exact, entries, prefix)
        order = list(dict.fromkeys([*([owner] if owner else []), *names]))
        listed = self._listed(viewer, order[:USERS_LOOKED_UP])
        people = [
            person for uid, person in listed.items() if uid == owner or _has_name(person.user, names.get(uid, set()))
        ]
        more = len(people) > PEOPLE_A_PAGE or len(order) > USERS_LOOKED_UP or len(entries) == PREFIX_ENTRIES
        return SearchResult(people[:PEOPLE_A_PAGE], more)

    # ---- both

    def _listed(self, viewer: Viewer, uids: Collection[int]) -> dict[int, ListedPerson]:
        """People by uid, in the order of `uids`, without unknown uids and deleted accounts. `joined` is None. At most
        one round trip; none without uids."""
        pipe = self._store.pipeline()
        listed = ask_listed(pipe, viewer.uid, uids)
        pipe.execute()
        return listed.value


class _FirstRows:
    """Asks for the first rows of a list of people, and one more."""

    def __init__(self, key: str) -> None:
        self._key = key

    def queue(self, pipe: Pipe, me: int | None) -> None:
        self._rows = pipe.zrevrange_withscores(self._key, 0, PEOPLE_A_PAGE)

    def result(self) -> Scored:
        return self._rows.value


class _StartRank:
    """Asks at which rank a later page begins."""

    def __init__(self, key: str, member: str, score: int) -> None:
        self._cursor = key, member, score

    def queue(self, pipe: Pipe, me: int | None) -> None:
        self._rank = ask_start_rank(pipe, *self._cursor)

    def result(self) -> int:
        return self._rank.value


class _Entries:
    """Asks who has the name `query`, and for the entries with exactly the folded name `prefix` and those that begin
    with it."""

    def __init__(self, query: str, prefix: str) -> None:
        self._query = query
        self._prefix = prefix

    def queue(self, pipe: Pipe, me: int | None) -> None:
        prefix = self._prefix
        self._owner = ask_owner(pipe, self._query)
        self._exact = pipe.zrangebylex(keys.users_by_name(), f"[{prefix}:", f"({prefix};", EXACT_ENTRIES)
        self._all = pipe.zrangebylex(keys.users_by_name(), f"[{prefix}", after_prefix(prefix), PREFIX_ENTRIES)

    def result(self) -> tuple[int | None, list[str], list[str]]:
        return self._owner.value, self._exact.value, self._all.value


def search_query(text: str) -> str:
    """The query from the text in the search field, in the form in which names are stored: `  @Ann` is `Ann`. May be
    empty."""
    return in_one_line(in_one_line(text[:LONGEST_INPUT]).removeprefix("@"))[:LONGEST_QUERY].rstrip()


def after_prefix(prefix: str) -> str:
    """The end of the range of all texts that begin with `prefix`, for ZRANGEBYLEX: the next text that does not.

    Redis compares bytes, which in UTF-8 have the order of the code points."""
    for index in reversed(range(len(prefix))):
        code_point = ord(prefix[index])
        if code_point < LAST_CODE_POINT:
            following = code_point + 1 if code_point + 1 not in SURROGATES else SURROGATES.stop
            return f"({prefix[:index]}{chr(following)}"
    return "+"


LAST_CODE_POINT = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)  # code points that are no characters


def _names_by_uid(exact: Iterable[str], entries: Iterable[str], prefix: str) -> dict[int, set[str]]:
    """The folded names by which the entries find each uid: in the order of the entries, but first the uids with a name
    that is the prefix."""
    names: dict[int, set[str]] = {}
    for entry in (*exact, *entries):
        name, uid = parse(entry) or ("", 0)
        names.setdefault(uid, set()).add(name)
    matching = {uid: {name for name in own if name.startswith(prefix)} for uid, own in names.items()}
    exactly = [uid for uid, own in matching.items() if prefix in own]
    return {uid: matching[uid] for uid in dict.fromkeys((*exactly, *matching)) if uid and matching[uid]}


def _has_name(user: User, names: set[str]) -> bool:
    return folded(user.username) in names or folded(user.shown_name) in names
