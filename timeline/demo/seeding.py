"""The demo community in the store: users, follows and posts.

The same numbers and seed give the same users, follows and posts. Only the salt of the password and the session secrets
are random. Times count back from the last full hour.
"""

import random
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from django.conf import settings

from accounts.users.entities import User
from accounts.users.names import entries
from accounts.users.repository import new_secret
from retwis_site.store import key_kinds, keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe, Store
from timeline.demo.texts import bio, display_name, post_body, usernames
from timeline.posts.entities import NO_LINKS
from timeline.posts.parsing.links import tags_in
from timeline.posts.parsing.tags import in_index
from timeline.posts.writing.listings import listings_of

OLDEST_USER = 400 * 86400  # seconds ago
NEWEST_USER = 2 * 86400  # seconds ago
OLDEST_POST = 300 * 86400  # seconds ago
POPULARITY = 0.8  # exponent of the power law that says how many follows and posts a user gets
BATCH = 1000  # commands in a round trip


@dataclass(frozen=True)
class Plan:
    """The size of a community."""

    users: int
    posts: int
    follows: int  # average for each user
    seed: int


@dataclass(frozen=True)
class Step:
    """One HSET or ZADD: a hash's fields, or a sorted set's members with their scores."""

    key: str
    fields: dict[str, str] | None = None
    members: dict[str, int] | None = None

    def queue(self, pipe: Pipe) -> None:
        if self.fields is not None:
            pipe.hset(self.key, self.fields)
        if self.members is not None:
            pipe.zadd(self.key, self.members)


class Community:
    """The commands that write a community."""

    def __init__(self, plan: Plan, password: str) -> None:
        """`password`: a Django hash for all users; one hash for each user would take minutes."""
        self._plan = plan
        self._password = password
        self._rng = random.Random(plan.seed)  # noqa: S311  a demo, not a secret
        self._now = int(time.time()) // 3600 * 3600
        self._names = [settings.DEMO_USER, *usernames(plan.users - 1, self._rng)]
        spread = (OLDEST_USER - NEWEST_USER) / plan.users
        self._joined = [int(self._now - OLDEST_USER + spread * number) for number in range(plan.users)]
        self._weights = self._power_law()

    def steps(self) -> Iterator[Step]:
        """All commands. The `users` hash comes last, and without it a store counts as empty. So a seeding that was
        killed can be repeated."""
        yield from self._users()
        yield from self._follows()
        yield from self._posts()
        yield from _spread(keys.users(), fields={name.lower(): str(uid) for uid, name in enumerate(self._names, 1)})

    def _power_law(self) -> list[float]:
        """Cumulative weights, in the order of the users: k^-POPULARITY for the k-th most popular. Ranks are random;
        the demo user has the middle one."""
        weights = [rank**-POPULARITY for rank in range(1, self._plan.users + 1)]
        middle = weights.pop(len(weights) // 2)
        self._rng.shuffle(weights)
        return list(accumulate([middle, *weights]))

    def _users(self) -> Iterator[Step]:
        secrets = [new_secret() for _ in self._names]
        display_names, bios = self._about()
        for uid, (name, secret) in enumerate(zip(self._names, secrets, strict=True), 1):
            about = {"name": display_names[uid - 1], "bio": bios[uid - 1]}
            fields = {"username": name, "password": self._password, "auth": secret}
            yield Step(keys.user(uid), fields=fields | {field: text for field, text in about.items() if text})
        yield from _spread(keys.auths(), fields={secret: str(uid) for uid, secret in enumerate(secrets, 1)})
        yield from _spread(keys.users_by_time(), members=dict(zip(self._names, self._joined, strict=True)))
        people = [User(uid, name, display_names[uid - 1]) for uid, name in enumerate(self._names, 1)]
        name_index = dict.fromkeys([entry for user in people for entry in entries(user)], 0)
        yield from _spread(keys.users_by_name(), members=name_index)

    def _about(self) -> tuple[list[str], list[str]]:
        """The display names and bios of all users; the demo user has none. They have their own random generator,
        so the follows and posts of a seed stay the same."""
        rng = random.Random(f"{self._plan.seed} about")  # noqa: S311  a demo, not a secret
        display_names = ["", *(display_name(name, rng) for name in self._names[1:])]
        return display_names, ["", *(bio(rng) for _ in self._names[1:])]

    def _follows(self) -> Iterator[Step]:
        followers: dict[int, dict[str, int]] = {}
        for me, count in enumerate(self._follow_counts(), 1):
            following: dict[str, int] = {}
            for them in self._chosen(me, count):
                since = self._rng.randint(max(self._joined[me - 1], self._joined[them - 1]), self._now)
                following[str(them)] = since
                followers.setdefault(them, {})[str(me)] = since
            yield from _spread(keys.following(me), members=following)
        for them, edges in followers.items():
            yield from _spread(keys.followers(them), members=edges)
        counts = {str(them): len(edges) for them, edges in followers.items()}
        yield from _spread(keys.users_by_followers(), members=counts)

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

    def _posts(self) -> Iterator[Step]:
        """Post ids grow with time, and the last weeks have the most posts."""
        ages = sorted((self._rng.random() ** 1.5 * OLDEST_POST for _ in range(self._plan.posts)), reverse=True)
        authors = self._rng.choices(range(1, self._plan.users + 1), cum_weights=self._weights, k=self._plan.posts)
        updates: dict[int, dict[str, int]] = {}
        listed: dict[str, dict[str, int]] = {}  # by key
        spellings: dict[str, str] = {}
        for pid, (age, author) in enumerate(zip(ages, authors, strict=True), 1):
            when = int(self._now - age)
            if self._joined[author - 1] > when:  # not registered yet: take an earlier user
                author = self._rng.randint(1, bisect_right(self._joined, when))
            body = post_body(self._rng)
            yield Step(keys.post(pid), fields={"user_id": str(author), "time": str(when), "body": body})
            updates.setdefault(author, {})[str(pid)] = pid
            for listing in listings_of(NO_LINKS, body):
                listed.setdefault(listing.key, {})[str(pid)] = pid
            spellings = tags_in(body) | spellings  # the first spelling stays
        for author, posts in updates.items():
            yield from _spread(keys.updates(author), members=posts)
        for key, posts in listed.items():
            yield from _spread(key, members=posts)
        yield from _spread(keys.tags(), fields=spellings)
        yield from _spread(keys.tags_by_name(), members={in_index(tag): 0 for tag in spellings})


def _spread(key: str, fields: dict[str, str] | None = None, members: dict[str, int] | None = None) -> Iterator[Step]:
    """A large hash or sorted set in several commands, so that no command keeps the server busy for long."""
    for batch in batches((fields or {}).items(), BATCH):
        yield Step(key, fields=dict(batch))
    for scored in batches((members or {}).items(), BATCH):
        yield Step(key, members=dict(scored))


def write(store: Store, batch: list[Step]) -> None:
    """Send some of the steps. One round trip."""
    pipe = store.pipeline()
    for step in batch:
        step.queue(pipe)
    pipe.execute()


def is_used(store: Store) -> bool:
    """Whether the store has a user, or the user counter that a killed seeding has left. One round trip."""
    pipe = store.pipeline()
    users = pipe.hlen(keys.users())
    counter = pipe.get(keys.next_user_id())
    pipe.execute()
    return bool(users.value) or counter.value is not None


def set_counters(store: Store, plan: Plan) -> None:
    """Set the counters to the last user and post of the plan. One round trip."""
    pipe = store.pipeline()
    pipe.set(keys.next_user_id(), str(plan.users))
    pipe.set(keys.next_post_id(), str(plan.posts))
    pipe.execute()


def flush(store: Store) -> int:
    """Delete every key of the key table with the KEY_PREFIX, and nothing else. Returns their number."""
    deleted = 0
    pipe = store.pipeline()
    for pattern in key_kinds.ALL:
        for batch in store.scan_keys(key_kinds.matching(pattern), BATCH):
            removed = [pipe.unlink(key) for key in batch]
            pipe.execute()
            deleted += sum(number.value for number in removed)
    return deleted
