"""Lists of users: the directory of all with its search, followers and following, and whom a user hides."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Literal, NamedTuple

import regex

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import LONGEST_DISPLAY_NAME, endings, folded, in_one_line, parse
from accounts.users.repository import ask_owner, ask_owners, ask_people
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Reply, Repository, Result, Scored, Store, answer, both, rest, trip
from retwis_site.store.ids import LARGEST_ID, integer, stored_id, stored_rows, stored_score
from retwis_site.store.kinds import OfId
from retwis_site.store.local_cache import Memory
from timeline.people.lists import (
    PEOPLE_A_PAGE,
    Cursor,
    FollowRow,
    PeopleList,
    PeoplePage,
    SearchResult,
    Show,
    ask_join_dates,
    ask_listed,
    ask_seen_person,
    read_rows,
)
from timeline.posts.links import AT_SIGNS
from timeline.posts.reading.visibility import hidden_among
from timeline.relations.relation import BlocksViewer, ask_among, stands_above
from timeline.relations.relations import COMPARED, ask_blocked, ask_blocks, ask_hidden

# ---- Pages of a user's followers and following: all rows, the mutual ones, or those that are not followed back.


FollowDate = tuple[int, int]  # uid, unix second of the follow
Side = Literal["followers", "following"]

FIRST_COMPARED = 500  # rows; COMPARED of them hold the store for 5 ms, and a process for 12


class FollowPages:
    """Pages of one side of a user's edges. Only reads."""

    def __init__(self, store: Store, side: Side) -> None:
        self._store = store
        self._is_of_followers = side == "followers"
        both = keys.followers, keys.following
        self._side, self._other = both if self._is_of_followers else both[::-1]

    def page(self, viewer: Viewer, username: str, before: Cursor | None, show: Show = Show.ALL) -> PeoplePage:
        """The followers of `username`, or the users that they follow, newest first. Two round trips with cached uids,
        three for a later page. Raises NoSuchUser, AccountDeleted, and NotShown for a user who blocks the viewer.

        A `show` that leaves rows out costs one round trip more: FIRST_COMPARED rows are read and compared with the
        other side. Unless more than a page of them fits, COMPARED rows below them are, too: three more. When less than
        a page of all these fits, the page is short, and the next one begins below them."""
        limit = PEOPLE_A_PAGE if show is Show.ALL else FIRST_COMPARED
        person, ([blocks], found) = viewer.ask_about(
            username,
            lambda pipe, me, them: both(
                trip(ask_blocks(pipe, me, them)), read_rows(pipe, self._side(them), before, limit + 1)
            ),
        )
        if blocks.theirs:
            raise BlocksViewer
        return self._page(viewer, person, found, show, PEOPLE_A_PAGE)

    def part(self, viewer: Viewer, uid: int, before: Cursor | None, size: int) -> PeoplePage:
        """As `page` without a filter, of the user with this uid, and `size` rows. Two round trips, three for a later
        page. Raises NoSuchUser, also for a deleted account, and NotShown."""
        [person], found = viewer.ask(
            lambda pipe, me: both(
                trip(ask_seen_person(pipe, me, uid)), read_rows(pipe, self._side(uid), before, size + 1)
            )
        )
        return self._page(viewer, person, found, Show.ALL, size)

    def _page(self, viewer: Viewer, person: User, found: Scored, show: Show, size: int) -> PeoplePage:
        """`found`: one row more than are looked at first."""
        limit, key = size if show is Show.ALL else FIRST_COMPARED, self._side(person.uid)
        rows, has_more = stored_rows(key, found), len(found) > limit
        compared = rows[:limit]
        fitting = compared if show is Show.ALL else self._fitting(compared, person.uid, show)
        if show is not Show.ALL and has_more and compared and len(fitting) <= size:
            found = self._below(key, compared[-1], COMPARED + 1)
            rows, has_more = stored_rows(key, found), len(found) > COMPARED
            compared += rows[:COMPARED]
            also = self._fitting(rows[:COMPARED], person.uid, show)
            fitting = [*dict.fromkeys([*fitting, *also])]  # a row that has moved meanwhile may come again
        edges = self._edges(fitting[:size], person.uid, viewer.uid)
        if len(fitting) > size:
            last, further = fitting[size - 1], False
        elif has_more and compared:
            last, further = compared[-1], show is not Show.ALL
        else:
            return PeoplePage(person, edges, None)
        uid, since = last
        return PeoplePage(person, edges, Cursor(since, str(uid)), further)

    def _below(self, key: str, last: FollowDate, number: int) -> Scored:
        """Two round trips."""
        uid, since = last
        pipe = self._store.pipeline()
        return rest(pipe, read_rows(pipe, key, Cursor(since, str(uid)), number))

    def _fitting(self, rows: Sequence[FollowDate], owner: int, show: Show) -> list[FollowDate]:
        """The rows that are also in the other set of `owner` (MUTUAL), or that are not. One round trip; none without
        rows."""
        mutual = answer(self._store, ask_among, self._other, owner, [uid for uid, _ in rows])
        return [row for row in rows if (row[0] in mutual) == (show is Show.MUTUAL)]

    def _edges(self, rows: Sequence[FollowDate], owner: int, me: int | None) -> list[FollowRow]:
        """The rows of `owner` with the people of `ask_listed`, and whether each follows `me`. One round trip; none
        without rows."""
        uids, is_own = [uid for uid, _ in rows], me == owner
        with self._store.pipeline() as pipe:
            # On their own pages viewers also see whom they mute, to unmute or unfollow them.
            listed = ask_listed(pipe, me, uids, ask_blocked if is_own else ask_hidden)
            asked_muted = ask_among(pipe, keys.muted, me, uids if is_own else ())
            # On the viewer's own followers page every row follows the viewer, so no row says it.
            all_follow = is_own and self._is_of_followers
            follow_me = ask_among(pipe, keys.followers, me, () if all_follow else uids)
        muted, my_followers = asked_muted.value, follow_me.value
        people = {uid: replace(one, muted=uid in muted) for uid, one in listed.value.items()}
        return [FollowRow(people[uid], since, uid in my_followers) for uid, since in rows if uid in people]


# ---- The directory of all users: the newest, the most followed, and a search by the words of names.
#
# `users_by_name` holds an entry for each word that finds a user: the rest of the name, from this word on. Redis orders
# the entries by their bytes, so those with a common beginning are one range. An entry alone proves nothing: it counts
# while the user still has the name.


LONGEST_QUERY = LONGEST_DISPLAY_NAME  # characters
LONGEST_INPUT = 4 * LONGEST_QUERY  # characters, with invisible ones, and with combining marks apart from letters
PREFIX_ENTRIES = 60  # entries that begin with the query; most users have at most two
EXACT_ENTRIES = 20  # entries that are the query; they are read besides
WORDS_ASKED = 4  # words of a query of several words; the others are only compared
WORD_ENTRIES = 200  # entries that begin with one of several words
USERS_LOOKED_UP = 30  # users that a search loads, a few more than a page: some may have other names now

# By username, with its letter case. An entry has 300 bytes, so all have 1.5 MB.
_uids: Memory[str, int] = Memory(size=5000, seconds=3600)


class People(Repository):
    """Lists of users. Only reads."""

    # ---- pages

    def newest(self, viewer: Viewer, before: Cursor | None) -> PeopleList:
        """A page of users, the newest first. Two round trips with cached uids, three for a later page; one more while
        the uids of the page's names are not cached."""
        rows = self._rows(viewer, keys.users_by_time(), before)
        shown = [(name, stored_score(keys.users_by_time(), name, when)) for name, when in rows[:PEOPLE_A_PAGE]]
        uids = self._uids_of([name for name, _ in shown])
        listed = answer(self._store, ask_listed, viewer.uid, uids.values())
        people = []
        for name, when in shown:
            person = listed.get(uids.get(name, 0))
            if person is not None and person.user.username == name:
                _uids.put(name, person.user.uid)
                people.append(replace(person, joined=when))
        return PeopleList(people, Cursor(shown[-1][1], shown[-1][0]) if len(rows) > PEOPLE_A_PAGE else None)

    def most_followed(self, viewer: Viewer, before: Cursor | None) -> PeopleList:
        """A page of users, the most followed first; without users that have no followers. Two round trips with cached
        uids, three for a later page; one more while the join dates are not cached."""
        rows = self._rows(viewer, keys.users_by_followers(), before)
        shown = stored_rows(keys.users_by_followers(), rows[:PEOPLE_A_PAGE])
        listed = answer(self._store, ask_listed, viewer.uid, [uid for uid, _ in shown])
        dates = answer(self._store, ask_join_dates, [person.user for person in listed.values()])
        people = [replace(listed[uid], joined=dates.get(uid)) for uid, _ in shown if uid in listed]
        older = Cursor(shown[-1][1], str(shown[-1][0])) if shown and len(rows) > PEOPLE_A_PAGE else None
        return PeopleList(people, older)

    def _rows(self, viewer: Viewer, key: str, before: Cursor | None) -> Scored:
        """The rows of a page and one more, as `read_rows`."""
        return viewer.ask(lambda pipe, me: read_rows(pipe, key, before, PEOPLE_A_PAGE + 1))

    def _uids_of(self, names: Sequence[str]) -> dict[str, int]:
        """Uids by username. At most one round trip; none while all are cached."""
        uids = _uids.some(names)
        return uids | answer(self._store, ask_owners, [name for name in names if name not in uids])

    # ---- search

    def search(self, viewer: Viewer, query: str) -> SearchResult:
        """The users in whose names each word of `query` begins a word, in any order and letter case; `query`: from
        `search_query`. Two round trips with cached uids; one when nothing matches.

        The user with this username comes first, then users with exactly this name, then those with the words in this
        order, by the bytes of the entries. Of several words that are all frequent only the first WORD_ENTRIES of each
        are compared.
        """
        [candidates] = viewer.ask(lambda pipe, me: trip(ask_candidates(pipe, query)))
        return answer(self._store, candidates.ask, viewer.uid)


def read_shown_names(pipe: Pipe, names: Sequence[str], me: int | None) -> Reading[list[str]]:
    """Which of some usernames a list shows: without those of deleted accounts, of people whom staff has hidden, and of
    those whom lists leave out for `me`; None: for a viewer who hides nobody. Two round trips; without `me` none while
    all are cached."""
    known = _uids.some(names)
    owners = ask_owners(pipe, [name for name in names if name not in known])
    yield
    uids = known | owners.value
    asked = ask_people(pipe, uids.values())
    hidden = ask_hidden(pipe, me, uids.values())
    yield
    people = asked.value
    left_out = hidden_among(people.values()) | hidden.value
    _uids.put_all({person.username: uid for uid, person in people.items()})
    return [name for name in names if (uid := uids.get(name)) in people and uid not in left_out]


class Candidates(NamedTuple):
    """Users that a search for names may have found."""

    prefix: str  # the folded query
    owner: int | None  # who has the name
    uids: list[int]  # in their order
    all_read: bool  # no other user can match

    def ask(self, pipe: Pipe, me: int | None) -> Result[SearchResult]:
        """The users that the search has found. Two commands for each candidate, at most USERS_LOOKED_UP, and three more
        for a signed-in viewer; none without candidates."""
        listed = ask_listed(pipe, me, self.uids[:USERS_LOOKED_UP])

        def read() -> SearchResult:
            people = [
                person
                for uid, person in listed.value.items()
                if uid == self.owner or _matches(person.user, self.prefix)
            ]
            people.sort(key=lambda one: (one.user.uid != self.owner, not _is_called(one.user, self.prefix)))
            more = len(people) > PEOPLE_A_PAGE or len(self.uids) > USERS_LOOKED_UP or not self.all_read
            return SearchResult(people[:PEOPLE_A_PAGE], more)

        return Result(read)


def ask_candidates(pipe: Pipe, query: str) -> Result[Candidates]:
    """Who has the name `query`, from `search_query`, and to whom the entries lead that begin with the folded query or
    with its words. Three commands, and one for each of up to WORDS_ASKED words."""
    prefix = folded(query)
    words = list(dict.fromkeys(_words_of(prefix)))
    owner = ask_owner(pipe, query)
    exact = pipe.zrangebylex(keys.users_by_name(), f"[{prefix}:", f"({prefix};", EXACT_ENTRIES)
    beginning = _ask_beginning(pipe, prefix, PREFIX_ENTRIES)
    asked = [_ask_beginning(pipe, word, WORD_ENTRIES) for word in (words[:WORDS_ASKED] if words != [prefix] else [])]

    def read() -> Candidates:
        of_words = [entries.value for entries in asked]
        complete = [entries for entries in of_words if len(entries) < WORD_ENTRIES]
        all_read = len(beginning.value) < PREFIX_ENTRIES and bool(complete or not of_words)
        exactly = [uid for ending, uid in _parsed(exact.value) if ending == prefix]
        in_order = [uid for ending, uid in _parsed(beginning.value) if ending.startswith(prefix)]
        first = [owner.value] if owner.value else []
        uids = [*first, *exactly, *in_order, *_in_all(complete or of_words, of_words)]
        return Candidates(prefix, owner.value, list(dict.fromkeys(uids)), all_read)

    return Result(read)


def _ask_beginning(pipe: Pipe, prefix: str, number: int) -> Reply[list[str]]:
    return pipe.zrangebylex(keys.users_by_name(), f"[{prefix}", after_prefix(prefix), number)


def _parsed(entries: Iterable[str]) -> list[tuple[str, int]]:
    return [found for entry in entries if (found := parse(entry))]


def _in_all(required: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> list[int]:
    """The uids that stand in all `required` lists of entries, first those that stand in most of the others."""
    lists = [dict.fromkeys(uid for _, uid in _parsed(entries)) for entries in required]
    inside = [uid for uid in lists[0] if all(uid in other for other in lists)] if lists else []
    times = Counter(uid for entries in others for uid in {uid for _, uid in _parsed(entries)})
    return sorted(inside, key=lambda uid: -times[uid])


def search_query(text: str) -> str:
    """The query from the text in the search field, in the form in which names are stored: `  @Ann` is `Ann`. May be
    empty."""
    line = in_one_line(text[:LONGEST_INPUT])
    name = line[1:] if line.startswith(tuple(AT_SIGNS)) else line
    return in_one_line(name)[:LONGEST_QUERY].rstrip()


def after_prefix(prefix: str) -> str:
    """The end of the range of all texts that begin with `prefix`, for ZRANGEBYLEX: the next text that does not.

    Redis compares bytes, which in UTF-8 have the order of the code points."""
    for index in reversed(range(len(prefix))):
        code_point = ord(prefix[index])
        if code_point < LAST_CODE_POINT:
            following = code_point + 1 if code_point + 1 not in SURROGATES else SURROGATES.stop
            return f"({prefix[:index]}{chr(following)}"
    return "+"


_around_words = regex.compile(r"^\p{P}+|\p{P}+$")


def _words_of(prefix: str) -> list[str]:
    """The words of a folded query; of several, without the punctuation around each: `walker, ann`, `ann (she`."""
    words = prefix.split()
    return words if len(words) == 1 else [bare for word in words if (bare := _around_words.sub("", word))]


LAST_CODE_POINT = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)  # code points that are no characters


def _matches(user: User, prefix: str) -> bool:
    """Whether the names of a user go on as `prefix` does, or each word of `prefix` begins a word of them."""
    found_by = [*endings(user.username), *endings(user.name or user.username)]

    def is_found(text: str) -> bool:
        return any(ending.startswith(text) for ending in found_by)

    words = _words_of(prefix)
    return is_found(prefix) or (bool(words) and all(map(is_found, words)))


def _is_called(user: User, name: str) -> bool:
    return name in (folded(user.username), folded(user.name or user.username))


# ---- The people whom a user blocks and mutes.


MOST = 100  # people of each kind that the page has


class Hides(StrEnum):
    """What of a person a user hides."""

    BLOCKED = "blocked"
    MUTED = "muted"
    REPOSTS = "reposts"


KEYS = {
    Hides.BLOCKED: keys.blocked,
    Hides.MUTED: keys.muted,
    Hides.REPOSTS: keys.muted_reposts,
}


class HiddenPerson(NamedTuple):
    user: User
    until: int | None  # unix seconds; None: until the user undoes it


def hidden_people(store: Store, viewer: Viewer) -> tuple[dict[Hides, list[HiddenPerson]], bool]:
    """The people of each kind, without deleted accounts: at most MOST, the last blocked and the longest muted ones; and
    whether a list may lack people: it has MOST, with deleted accounts. Two round trips with cached uids. Raises
    NotSignedIn."""
    _, [found] = viewer.ask_as_user(lambda pipe, me: trip(_ask_rows(pipe, me)))
    people = answer(store, ask_people, {int(row.member) for rows in found.values() for row in rows})
    shown = {
        kind: [HiddenPerson(people[uid], ends(kind, row)) for row in rows if (uid := int(row.member)) in people]
        for kind, rows in found.items()
    }
    return shown, any(len(rows) == MOST for rows in found.values())


def hidden_part(
    store: Store, viewer: Viewer, kind: Hides, before: Cursor | None, size: int
) -> tuple[list[Cursor], Cursor | None]:
    """`size` people of one kind, in the same order, also deleted accounts; and the cursor of the next page, None on the
    last one. One round trip with a cached uid, two for a later page. Raises NotSignedIn."""
    key = KEYS[kind]
    me, found = viewer.ask_as_user(lambda pipe, me: read_rows(pipe, key(me), before, size + 1))
    rows = _that_stand(key, me.uid, found)[:size]
    return rows, rows[-1] if rows and len(found) > size else None


def _ask_rows(pipe: Pipe, me: int) -> Result[dict[Hides, list[Cursor]]]:
    asked = {kind: pipe.zrevrange_withscores(key(me), 0, MOST - 1) for kind, key in KEYS.items()}
    return Result(lambda: {kind: _that_stand(KEYS[kind], me, rows.value) for kind, rows in asked.items()})


def _that_stand(key: OfId, me: int, rows: Scored) -> list[Cursor]:
    """The rows of people who are hidden now."""
    least = stands_above(key)
    return [
        Cursor(integer(score), str(uid))
        for member, score in rows
        if score > least and (uid := stored_id(key(me), member)) is not None
    ]


def ends(kind: Hides, row: Cursor) -> int | None:
    """Until when a person is hidden, in unix seconds; None: until the user undoes it."""
    return None if kind is Hides.BLOCKED or row.score == LARGEST_ID else row.score
