"""What answers need of the store beside posts and people: the profiles that accounts show, and what statuses say of
their viewer. It travels in the round trips that read the posts."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from accounts.facts.facts import FIELDS as FACTS, facts_of
from accounts.users.entities import User
from accounts.users.repository import ask_people
from retwis_site.store import keys
from retwis_site.store.client import Handle, Pipe, Reading, Reply, Result, connect, rest, trip
from retwis_site.store.commands import Question, together
from retwis_site.store.ids import stored_digest, stored_ids, stored_time
from retwis_site.store.local_cache import Memory
from timeline.api.calls import Call
from timeline.api.entities import Entity, Profile, StatusDetails, account_of, status_of, written_statuses
from timeline.people.lists import ask_join_dates, ask_seen_person
from timeline.posts.entities import Post
from timeline.posts.reading.cached_posts import cached_records
from timeline.relations.relations import FOLLOW_COUNTS, MUTED_THREADS, follow_counts
from timeline.timelines.profile import PINNED

# ---- Profiles. A process keeps them for seconds, as it keeps people.


class _ProfileRead(NamedTuple):
    """What one round trip says of a profile. Its dates may need another one, since they depend on it."""

    undated: Profile
    last_pid: int | None  # the newest status


def _read(uid: int, replies: Sequence[Any]) -> _ProfileRead:
    (bio, header, *facts), statuses, newest, *sizes = replies
    pids = stored_ids(keys.updates(uid), newest)
    header = stored_digest(keys.user(uid), header)
    undated = Profile(bio or "", tuple(facts_of(uid, *facts)), follow_counts(uid, sizes), statuses, header=header)
    return _ProfileRead(undated, pids[0] if pids else None)


_PROFILE = Question(
    ("HMGET", keys.user, "bio", "header", *FACTS),
    ("ZCARD", keys.updates),
    ("ZREVRANGE", keys.updates, 0, 0),
    *FOLLOW_COUNTS.commands,
    read=_read,
)
# By uid. An entry has some 700 bytes, so all have 3.5 MB. Where people look at their own, it is asked for anew.
_profiles: Memory[int, Profile] = Memory(size=5000, seconds=5)
_times: Memory[int, int] = Memory(size=5000, seconds=3600)  # when a post was written, which never changes: 1 MB


class NamedProfiles:
    """The profiles of the people whom one answer names."""

    def __init__(self) -> None:
        self._asked: dict[int, Reply[_ProfileRead]] = {}
        self._found: dict[int, Profile] = {}
        self._fresh: set[int] = set()

    def ask(self, pipe: Pipe, uids: Iterable[int]) -> None:
        """Ask for those that are not cached. Seven commands each."""
        others = [uid for uid in dict.fromkeys(uids) if uid not in self._asked and uid not in self._found]
        if not others:
            return
        self._found |= _profiles.some(others)
        self._asked |= {uid: pipe.ask(_PROFILE, uid) for uid in others if uid not in self._found}

    def ask_fresh(self, pipe: Pipe, uid: int) -> None:
        """Ask for one as it is now, also when it is cached; once. Seven commands."""
        if uid not in self._fresh:
            self._fresh.add(uid)
            self._asked[uid] = pipe.ask(_PROFILE, uid)

    def reading(self, pipe: Pipe, people: Iterable[User]) -> Reading[dict[int, Profile]]:
        """The profiles of these people, by uid. No round trip while all were asked for, else one; one more while a join
        date, or the date of the newest post, is not cached."""
        by_uid = {person.uid: person for person in people}
        self.ask(pipe, by_uid)
        not_shown = ask_people(pipe, self._asked.keys() - by_uid.keys())  # kept too, else each answer asks for them
        yield
        by_uid |= not_shown.value
        new = {uid: self._asked.pop(uid).value for uid in by_uid if uid in self._asked}
        if not new:
            return self._found
        joined = ask_join_dates(pipe, [by_uid[uid] for uid in new])
        times = _ask_times(pipe, [one.last_pid for one in new.values() if one.last_pid is not None])
        yield
        since, dates = joined.value, times.value
        made = {
            uid: one.undated._replace(joined=since.get(uid, 0), last_status=dates.get(one.last_pid or 0))
            for uid, one in new.items()
        }
        self._found |= _profiles.put_all(made)
        return self._found


def _ask_times(pipe: Pipe, pids: Sequence[int]) -> Result[dict[int, int]]:
    """When these posts were written, in unix seconds. A command for each of which this process does not know it."""
    known = _times.some(pids)
    known |= {pid: record.time for pid, record in cached_records([pid for pid in pids if pid not in known]).items()}
    asked = {pid: pipe.hget(keys.post(pid), "time") for pid in pids if pid not in known}

    def read() -> dict[int, int]:
        times = {pid: stored_time(keys.post(pid), reply.value) for pid, reply in asked.items()}
        return known | _times.put_all(times)

    return Result(read)


def read_accounts(pipe: Pipe, origin: str, uids: Iterable[int]) -> Reading[dict[int, Entity]]:
    """Accounts by uid, in the order of `uids`, without unknown uids, deleted and suspended accounts. `origin`: as
    `Call.origin`. Round trips as for `NamedProfiles.reading`."""
    uids, profiles = [*dict.fromkeys(uids)], NamedProfiles()
    profiles.ask(pipe, uids)
    asked = ask_people(pipe, uids)
    yield
    people = asked.value
    found = yield from profiles.reading(pipe, people.values())
    return {uid: account_of(origin, people[uid], found[uid]) for uid in uids if uid in people}


def read_profile_now(pipe: Pipe, me: int | None, uid: int) -> Reading[tuple[User, Profile]]:
    """One person whom the viewer `me` sees, and their profile as it is now. One round trip, two while a date is not
    cached. Raises as `ask_seen_person`."""
    profiles = NamedProfiles()
    profiles.ask_fresh(pipe, uid)
    [user] = yield from trip(ask_seen_person(pipe, me, uid))
    found = yield from profiles.reading(pipe, [user])
    return user, found[uid]


def accounts_of(call: Call, uids: Iterable[int]) -> dict[int, Entity]:
    """As `read_accounts`, in round trips of its own: none while all are cached."""
    pipe = connect().pipeline()
    return rest(pipe, read_accounts(pipe, call.origin, uids))


# ---- Statuses


_MutedAndPinned = tuple[frozenset[str], int | None]  # the threads that the viewer has muted, and the pinned post
_OF_VIEWER: Question[_MutedAndPinned] = together(MUTED_THREADS, PINNED, read=lambda muted, pinned: (muted, pinned))
NOTHING_OF_VIEWER = Result[_MutedAndPinned](lambda: (frozenset(), None))

# By uid of the viewer, whom the last answer named. The next one asks for their profiles in its first round trip. 1 MB.
_named_last: Memory[int, tuple[int, ...]] = Memory(size=2000, seconds=3600)


class Statuses:
    """The statuses of one answer. It is made before the first round trip, and shares it: so `besides` of the viewer.
    Profiles of authors travel with their posts: so `about_authors`."""

    def __init__(self, call: Call) -> None:
        self.origin = call.origin
        self._store = connect()
        self._viewer = call.viewer
        self._profiles = NamedProfiles()
        self._of_viewer: Handle[_MutedAndPinned] | None = None
        self._viewer.besides = self._ask_besides
        self._viewer.about_authors = self._profiles.ask

    def _ask_besides(self, pipe: Pipe, me: int | None) -> None:
        """Two commands, and seven for the viewer's own profile; none for a visitor. And for each profile that is not
        cached, as for `NamedProfiles.ask`."""
        self._of_viewer = NOTHING_OF_VIEWER
        if me is None:
            return
        self._of_viewer = pipe.ask(_OF_VIEWER, me)
        named = _named_last.get(me)
        if named is None or me in named:
            self._profiles.ask_fresh(pipe, me)  # people see at once what they did
        self._profiles.ask(pipe, named or ())

    def of(self, posts: Sequence[Post]) -> list[Entity]:
        """These posts as statuses. No round trip where they were read since this was made, and all dates are cached."""
        shown = self._shown(posts)
        return [status_of(post, shown) for post in posts]

    def written(self, posts: Sequence[Post]) -> bytes:
        """As `of`, for a page of statuses."""
        return written_statuses(posts, self._shown(posts))

    def _shown(self, posts: Sequence[Post]) -> StatusDetails:
        if self._of_viewer is None:
            self._viewer.ask(lambda pipe, me: trip())
        muted, pinned = (self._of_viewer or NOTHING_OF_VIEWER).value
        pipe, me = self._store.pipeline(), self._viewer.uid
        authors: dict[int, User] = {}
        mentioned: set[int] = set()
        for post in posts:
            quoted = post.context.quoted
            for one in (post,) if quoted is None else (post, quoted):
                authors[one.author.uid] = one.author
                if one.links.mentions:
                    mentioned.update(one.links.mentions)
            if post.context.listed is not None:
                authors[post.listed_by.uid] = post.listed_by
        people = ask_people(pipe, mentioned)
        if me in authors:
            self._profiles.ask_fresh(pipe, me)
        profiles = rest(pipe, self._profiles.reading(pipe, authors.values()))
        if me is not None:
            _named_last.put(me, tuple(authors))
        return StatusDetails(self.origin, people.value, profiles, muted, pinned)
