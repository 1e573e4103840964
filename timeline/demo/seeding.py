"""The demo community in the store: users, follows, posts, and what the demo user finds.

The same numbers and seed give the same users, follows and posts. Only the salt of the password and the session secrets
are random. Times count back from the last full minute.
"""

import random
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

from django.conf import settings

from accounts.users.entities import User
from accounts.users.names import entries, holders
from accounts.users.repository import new_secret
from retwis_site.maintenance import filling
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe, Store, for_each
from retwis_site.store.kinds import OfId, may_be
from retwis_site.store.schema import UNFINISHED
from timeline.demo.texts import DEMO_BIO, bio, display_name, usernames
from timeline.demo.threads import DEMO, DEMO_RESTS, EDITED_AFTER, DemoPeople, DemoPost, Stream
from timeline.notices import KEPT, MARK, Notice, NoticeKind
from timeline.posts.entities import Links, PostCounts
from timeline.posts.links import in_index, tags_in
from timeline.posts.reading.records import Record, stored_as
from timeline.posts.repository import MOST_ABOVE
from timeline.posts.settling import listings_of
from timeline.relations.relations import BOOKMARK, LIKE, REPOST

# ---- What somebody finds who logs in as the demo user: a thread with answers, and news from the last minutes.


NOTICED = 20 * 60  # seconds ago: the demo user has read the notices
FEWEST_USERS, FEWEST_POSTS = 12, 60  # of a community that has a showcase
FOLLOWED = 9 * 60  # seconds ago: the newest follow of the demo user
BOOKMARKS = 8


def showcase(people: DemoPeople, now: int) -> list[DemoPost]:
    """The posts of the showcase, each behind what it names. With the newest follow they cause seven unread
    notices."""

    def ago(minutes: int) -> int:
        return now - minutes * 60

    one, two, three, four, five, six = range(DEMO + 1, DEMO + 7)
    question = DemoPost(DEMO, ago(50), is_question=True, likes={four: ago(18), five: ago(15), six: ago(40)})
    answer = DemoPost(one, ago(43), answers=question, likes={DEMO: ago(36)})
    thanks = DemoPost(DEMO, ago(36), answers=answer)
    goes = DemoPost(two, ago(34), answers=question, is_deleted=True)
    drafts = [
        question,
        answer,
        thanks,
        DemoPost(one, ago(31), answers=thanks),
        goes,
        DemoPost(DEMO, ago(28), answers=goes),
        DemoPost(three, ago(12), answers=question),
        DemoPost(four, ago(7), reposts=question),
        DemoPost(five, ago(5), quotes=question),
        DemoPost(
            six,
            ago(3),
            text=f"Seeds to give away:\n- two kinds of tomatoes\n- beans\n- basil\n\n@{people.names[0]}, you asked?",
            mentions=(DEMO,),
        ),
    ]
    for draft in drafts:
        draft.is_planned = True
    return drafts


def bookmarked(drafts: Sequence[DemoPost]) -> list[DemoPost]:
    """The posts that the demo user has bookmarked: the last ones of others that many like."""
    others = [draft for draft in drafts if draft.author != DEMO and not draft.is_deleted and not draft.reposts]
    return sorted(others[-20 * BOOKMARKS :], key=lambda draft: -len(draft.likes))[:BOOKMARKS]


# ---- The commands that write the demo community.


# A key, and the fields of a hash or the members of a sorted set with their scores, as the key table says.
SeedWrite = tuple[str, Mapping[str, Any]]


def in_parts(writes: Iterable[SeedWrite]) -> Iterator[SeedWrite]:
    """The same, each of at most BATCH fields or members, so that no command keeps the server busy for long."""
    for key, content in writes:
        yield from ((key, dict(part)) for part in batches(content.items(), BATCH))


def queue_write(pipe: Pipe, write: SeedWrite) -> None:
    """One HSET or ZADD."""
    key, content = write
    if (kind := may_be(key)) is not None and kind.type == "hash":
        pipe.hset(key, content)
    else:
        pipe.zadd(key, content)


# ---- The posts as commands, in the form in which the site's own writes leave them.


DELETED_AFTER = 3600  # seconds
COUNTED = (keys.liked_by, keys.reposted_by, keys.replies_to, keys.quotes_of)  # in the order of `PostCounts`
TOGETHER = 30_000  # posts whose sets are kept in memory


def post_writes(drafts: Sequence[DemoPost], now: int) -> Iterator[SeedWrite]:
    """All that follows from the posts of a community: the sets first, since the numbers in the hashes count them."""
    spellings: dict[str, str] = {}
    sizes: Counter[str] = Counter()  # of the sets that numbers in the hashes count, by key
    for some in batches(drafts, TOGETHER):
        sets: dict[str, dict[str, int]] = defaultdict(dict)  # members with scores, by key
        for draft in some:
            if not draft.is_deleted:
                sets[keys.updates(draft.author)][str(draft.pid)] = draft.pid
            for listing in listings_of(links(draft), "" if draft.is_deleted else draft.text):
                sets[listing.key][str(draft.pid)] = draft.pid
            spellings = tags_in(draft.text) | spellings  # the first spelling stays
            _relate(draft, sets)
        for key, members in sets.items():
            if isinstance(kind := may_be(key), OfId) and kind.counted:
                sizes[key] += len(members)
            yield key, members
    for draft in drafts:
        yield keys.post(draft.pid), _fields(draft, sizes, now)
        if draft.first_text:
            yield keys.edits(draft.pid), {str(draft.when): draft.first_text, str(draft.when + EDITED_AFTER): draft.text}
    yield keys.tags(), spellings
    yield keys.tags_by_name(), {in_index(tag): 0 for tag in spellings}


def _fields(draft: DemoPost, sizes: Mapping[str, int], now: int) -> dict[str, str]:
    post = Record(draft.pid, draft.author, draft.when, draft.text, links(draft))
    if draft.is_deleted:
        return stored_as(post._replace(body="")) | {"deleted": str(min(now, draft.when + DELETED_AFTER))}
    counts = PostCounts(*(sizes[kind(draft.pid)] for kind in COUNTED))
    return stored_as(post._replace(counts=counts, edited=draft.when + EDITED_AFTER if draft.first_text else None))


def _relate(draft: DemoPost, sets: dict[str, dict[str, int]]) -> None:
    """The likes of a post, or whose repost it is."""
    for uid, when in draft.likes.items():
        sets[LIKE.truth(uid)][str(draft.pid)] = when
        sets[keys.liked_by(draft.pid)][str(uid)] = when
    if draft.reposts:
        sets[REPOST.truth(draft.author)][str(draft.reposts.pid)] = draft.pid
        sets[keys.reposted_by(draft.reposts.pid)][str(draft.author)] = draft.pid


def links(draft: DemoPost) -> Links:
    """What a post names."""
    above = draft.above
    return Links(
        reply_to=above[0].pid if above else None,
        root=above[-1].pid if above else None,
        reply_to_user=above[0].author if above else None,
        above=tuple(other.pid for other in above[:MOST_ABOVE]),
        quote=draft.quotes.pid if draft.quotes else None,
        repost_of=draft.reposts.pid if draft.reposts else None,
        mentions=draft.mentions,
    )


def demo_notices(drafts: Sequence[DemoPost]) -> dict[Notice, int]:
    """What the posts and likes of others tell the demo user, with the dates. The other users have no notices."""
    found: dict[Notice, int] = {}
    for draft in drafts:
        if draft.author == DEMO:
            found |= {Notice(NoticeKind.LIKE, draft.pid, uid): when for uid, when in draft.likes.items()}
            continue
        kind = _kind(draft)
        if kind and not draft.is_deleted:
            what = draft.reposts.pid if draft.reposts else draft.pid
            found[Notice(kind, what, draft.author)] = draft.when
    return found


def _kind(draft: DemoPost) -> NoticeKind | None:
    """What a post is to the demo user."""
    if draft.answers and draft.answers.author == DEMO:
        return NoticeKind.REPLY
    if draft.quotes and draft.quotes.author == DEMO:
        return NoticeKind.QUOTE
    if draft.reposts and draft.reposts.author == DEMO:
        return NoticeKind.REPOST
    return NoticeKind.MENTION if DEMO in (draft.mentions or ()) else None


# ---- The community


OLDEST_USER = 400 * 86400  # seconds ago
NEWEST_USER = 2 * 86400  # seconds ago
POPULARITY = 0.8  # exponent of the power law that says how many follows and posts a user gets
BATCH = 300  # commands in a round trip, and fields or members of each: a busy server takes them in a few seconds


@dataclass(frozen=True)
class Plan:
    """The size of a community."""

    users: int
    posts: int
    follows: int  # average for each user
    seed: int


class Community:
    """The commands that write a community. Iterate for all but those of `names`, BATCH at once: none is kept.
    `steps` estimates the number of batches."""

    def __init__(self, plan: Plan, password: str) -> None:
        """`password`: a Django hash for all users; one hash for each user would take minutes."""
        self._plan = plan
        self._password = password
        self._rng = random.Random(plan.seed)  # noqa: S311  a demo, not a secret
        self._now = int(time.time()) // 60 * 60
        self._names = [settings.DEMO_USER, *usernames(plan.users - 1, self._rng)]
        spread = (OLDEST_USER - NEWEST_USER) / plan.users
        self._joined = [int(self._now - OLDEST_USER + spread * number) for number in range(plan.users)]
        self._weights = self._power_law()
        self._has_showcase = plan.users >= FEWEST_USERS and plan.posts >= FEWEST_POSTS
        self._demo_followers: dict[str, int] = {}  # uid -> since when

    def steps(self) -> int:
        return (self._plan.users * 5 + self._plan.posts * 2) // BATCH + 1

    def __iter__(self) -> Iterator[list[SeedWrite]]:
        return batches(in_parts(chain(self._users(), self._follows(), self._posts())), BATCH)

    def names(self) -> Iterator[SeedWrite]:
        """The `users` hash, which comes after the index of the search: without it a store counts as empty. So a seeding
        that was killed can be repeated."""
        names = {name.lower(): str(uid) for uid, name in enumerate(self._names, 1)}
        return in_parts([(keys.users(), names)])

    def _power_law(self) -> list[float]:
        """Cumulative weights, in the order of the users: k^-POPULARITY for the k-th most popular. Ranks are random;
        the demo user has the middle one."""
        weights = [rank**-POPULARITY for rank in range(1, self._plan.users + 1)]
        middle = weights.pop(len(weights) // 2)
        self._rng.shuffle(weights)
        return list(accumulate([middle, *weights]))

    def _users(self) -> Iterator[SeedWrite]:
        secrets = [new_secret() for _ in self._names]
        display_names, bios = self._about()
        for uid, (name, secret) in enumerate(zip(self._names, secrets, strict=True), 1):
            about = {"name": display_names[uid - 1], "bio": bios[uid - 1]}
            fields = {"username": name, "password": self._password, "auth": secret}
            yield keys.user(uid), fields | {field: text for field, text in about.items() if text}
        yield keys.auths(), {secret: str(uid) for uid, secret in enumerate(secrets, 1)}
        yield keys.users_by_time(), dict(zip(self._names, self._joined, strict=True))
        people = [User(uid, name, display_names[uid - 1]) for uid, name in enumerate(self._names, 1)]
        name_index = dict.fromkeys([entry for user in people for entry in entries(user)], 0)
        yield keys.users_by_name(), name_index
        yield keys.skeletons(), holders(dict(enumerate(self._names, 1)))

    def _about(self) -> tuple[list[str], list[str]]:
        """The display names and bios of all users; the demo user has only a bio. They have their own random
        generator, so the follows and posts of a seed stay the same."""
        rng = random.Random(f"{self._plan.seed} about")  # noqa: S311  a demo, not a secret
        display_names = ["", *(display_name(name, rng) for name in self._names[1:])]
        return display_names, [DEMO_BIO, *(bio(rng) for _ in self._names[1:])]

    def _follows(self) -> Iterator[SeedWrite]:
        followers: dict[int, array[int]] = {}  # by uid: a follower, since when, the next follower ... 8 bytes each
        for me, count in enumerate(self._follow_counts(), 1):
            following: dict[str, int] = {}
            for them in self._chosen(me, count):
                latest = self._now - DEMO_RESTS if them == DEMO else self._now
                following[str(them)] = self._rng.randint(max(self._joined[me - 1], self._joined[them - 1]), latest)
            if self._has_showcase and me == self._plan.users and following:
                following.pop(str(DEMO), None) or following.popitem()
                following[str(DEMO)] = self._now - FOLLOWED
            for followed, since in following.items():
                followers.setdefault(int(followed), array("q")).extend((me, since))
            yield keys.following(me), following
        self._demo_followers = _members(followers.get(DEMO, array("q")))
        for uid, edges in followers.items():
            yield keys.followers(uid), _members(edges)
        yield keys.users_by_followers(), {str(uid): len(edges) // 2 for uid, edges in followers.items()}

    def _follow_counts(self) -> list[int]:
        """How many users each user follows: uneven numbers with exactly the plan's average, if there are enough."""
        most = self._plan.users - 1
        total = min(self._plan.follows, most) * self._plan.users
        draws = [self._rng.lognormvariate(0, 0.6) for _ in self._names]
        factor = total / sum(draws)
        counts = [min(most, int(draw * factor)) for draw in draws]
        missing = total - sum(counts)
        while missing > 0:
            user = self._rng.randrange(self._plan.users)
            if counts[user] < most:
                counts[user] += 1
                missing -= 1
        return counts

    def _chosen(self, me: int, count: int) -> list[int]:
        """`count` different uids other than `me`; popular users are chosen more often."""
        everyone = range(1, self._plan.users + 1)
        if count > len(everyone) // 2:
            return self._rng.sample([uid for uid in everyone if uid != me], count)
        chosen: dict[int, None] = {}
        while len(chosen) < count:
            draws = self._rng.choices(everyone, cum_weights=self._weights, k=count)
            chosen.update(dict.fromkeys(uid for uid in draws if uid != me))
        return list(chosen)[:count]

    def _posts(self) -> Iterator[SeedWrite]:
        """Post ids grow with time, and the last weeks have the most posts."""
        people = DemoPeople(self._names, self._joined, self._weights)
        planned = showcase(people, self._now) if self._has_showcase else []
        drafts = Stream(people, self._now, self._rng).drafts(self._plan.posts, planned)
        yield from post_writes(drafts, self._now)
        if self._has_showcase:
            yield BOOKMARK.truth(DEMO), {str(one.pid): min(self._now, one.when + 300) for one in bookmarked(drafts)}
            yield from self._notices(demo_notices(drafts))

    def _notices(self, of_posts: dict[Notice, int]) -> Iterator[SeedWrite]:
        """The notices of the demo user, all but the last seven of them read."""
        follows = {Notice(NoticeKind.FOLLOW, DEMO, int(uid)): since for uid, since in self._demo_followers.items()}
        newest = sorted((follows | of_posts).items(), key=lambda row: row[1])[-KEPT:]
        noticed = self._now - NOTICED
        yield keys.notices(DEMO), {notice.member: when for notice, when in newest} | {MARK: noticed}
        yield keys.user(DEMO), {"noticed": str(noticed)}


def _members(edges: "array[int]") -> dict[str, int]:
    return dict(zip(map(str, edges[::2]), edges[1::2], strict=True))


# ---- A seeding is a run that fills a store: see `filling.py`. No site shows a part of it.


RUN = f"{UNFINISHED}-seed"  # how the names of its runs begin


def begin(store: Store) -> str:
    """Begin as `filling.begin` does. Returns the name of the run."""
    return filling.begin(store, RUN)


def was_killed(store: Store) -> bool:
    """Whether the store has a part of a community: a seeding was killed, or is under way. One round trip."""
    return (store.get(keys.next_post_id()) or "").startswith(RUN)


def write(store: Store, run: str, batch: list[SeedWrite]) -> None:
    """Send some writes. Two round trips. Raises CannotFill after another `begin`: two communities would be
    mixed."""
    for_each(filling.require(store, run), queue_write, batch)


def finish(store: Store, run: str, plan: Plan) -> None:
    """Commit: the counters say the last user and post of the plan. Raises CannotFill after another `begin`."""
    filling.commit(store, run, {keys.next_post_id(): plan.posts, keys.next_user_id(): plan.users})
