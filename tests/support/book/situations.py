"""What has happened on the site before a session of the book, by the words above the session.

The clock stands at NOON, a minute later for each act, and what is random is the same in each run.
"""

import hashlib
import itertools
import secrets
import time
from collections.abc import Callable

from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User, Verified
from retwis_site.jobs.outbox import LEASE
from retwis_site.jobs.worker import drain
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from tests.support.people import Login, register
from tests.support.stores.seam import killed_before_round_trip
from timeline.notices import Inbox
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes
from timeline.timelines.home import Homes

NOON = 1_795_435_200  # 2026-11-23 12:00:00 UTC

ALICE, BOB, CAROL = 1, 2, 3
ROUND_TRIPS_TO_THE_COMMIT = 4  # of a post without an @name


class Site:
    """The site of the book: its acts, each a minute after the one before. The worker finishes its jobs at once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = NOON
        self._logins: dict[int, Login] = {}

    def time(self) -> float:
        return float(self.now)

    def registers(self, *names: str) -> None:
        for name in names:
            login = register(self.store, name)
            self._logins[login.user.uid] = login
            self._happened()

    def logs_in(self, uid: int, name: str, browser: str, system: str) -> str:
        """The secret of the session."""
        secret = Sessions(self.store).open(Verified(User(uid, name)), Device(browser, system))
        self._happened()
        return secret

    def follows(self, who: int, whom: int) -> None:
        Follows(self.store).follow(who, whom)
        self._happened()

    def posts(self, who: int, *texts: str, reply_to: int | None = None) -> None:
        for text in texts:
            Posts(self.store).publish(who, NewPost(text, reply_to=reply_to), text)
            self._happened()

    def likes(self, who: int, pid: int, author: int) -> None:
        Likes(self.store).like(who, pid, author)
        self._happened()

    def opens_home(self, who: int) -> None:
        Homes(self.store).page(Viewer(self.store, self._logins[who].secret), None)
        self._happened()

    def works(self) -> None:
        """The worker finishes the jobs that are due."""
        drain(self.store, "worker")

    def _happened(self) -> None:
        self.works()
        self.now += 60


def alice_registers(site: Site) -> None:
    site.registers("Alice")


def alice_logs_in_twice(site: Site) -> None:
    alice_registers(site)
    site.logs_in(ALICE, "Alice", "Firefox", "Linux")
    site.logs_in(ALICE, "Alice", "Safari", "iPhone")


def alice_ends_all_sessions(site: Site) -> None:
    alice_logs_in_twice(site)
    Sessions(site.store).end_all(ALICE)


def three_people(site: Site) -> None:
    site.registers("Alice", "bob", "carol")


def bob_and_carol_follow_alice(site: Site) -> None:
    three_people(site)
    site.follows(BOB, ALICE)
    site.follows(CAROL, ALICE)
    site.follows(ALICE, BOB)


def alice_posts_to_one_reader(site: Site) -> None:
    three_people(site)
    site.follows(BOB, ALICE)
    site.follows(CAROL, ALICE)
    site.opens_home(BOB)
    site.posts(ALICE, "Fresh bread")


def bob_follows_two_authors(site: Site) -> None:
    three_people(site)
    site.follows(BOB, ALICE)
    site.follows(BOB, CAROL)
    site.posts(ALICE, "Fresh bread", "More bread")
    site.posts(CAROL, "I like rain")


def killed_after_the_commit(site: Site) -> None:
    three_people(site)
    site.follows(BOB, ALICE)
    site.opens_home(BOB)
    publish = Posts(site.store).publish
    assert killed_before_round_trip(ROUND_TRIPS_TO_THE_COMMIT, lambda: publish(ALICE, NewPost("Fresh bread"), "token"))


def a_minute_after_the_death(site: Site) -> None:
    killed_after_the_commit(site)
    site.now += LEASE
    site.works()
    site.works()  # the post left a job to the search


def two_like_a_post(site: Site) -> None:
    three_people(site)
    site.posts(ALICE, "Fresh bread")
    site.likes(BOB, 1, ALICE)
    site.likes(CAROL, 1, ALICE)


def alice_is_noticed(site: Site) -> None:
    three_people(site)
    site.posts(ALICE, "Fresh bread")
    site.follows(BOB, ALICE)
    site.likes(BOB, 1, ALICE)
    site.posts(CAROL, "Looks good!", reply_to=1)


def alice_has_read(site: Site) -> None:
    alice_is_noticed(site)
    Inbox(site.store, ALICE).set_read(int(site.time()))
    site.now += 60
    site.likes(CAROL, 1, ALICE)


def posts_are_indexed(site: Site) -> None:
    three_people(site)
    site.posts(ALICE, "Fresh bread", "More bread")
    site.posts(BOB, "I like rain")


SITUATIONS: dict[str, Callable[[Site], None]] = {
    "an empty server": lambda site: None,
    "Alice has registered": alice_registers,
    "Alice has logged in on a laptop and on a phone": alice_logs_in_twice,
    "Alice has logged out everywhere": alice_ends_all_sessions,
    "Bob and Carol follow Alice, and she follows Bob": bob_and_carol_follow_alice,
    "Bob and Carol follow Alice, only Bob has opened his home, then Alice posts": alice_posts_to_one_reader,
    "Alice posts twice and Carol once, and Bob, who follows both, has not come back yet": bob_follows_two_authors,
    "Bob follows Alice and has opened his home; the process dies right after the commit of her post": (
        killed_after_the_commit
    ),
    "a minute later, a worker has run": a_minute_after_the_death,
    "Bob and Carol like the post of Alice": two_like_a_post,
    "Bob follows Alice and likes her post, Carol replies to it": alice_is_noticed,
    "Alice has read her notifications, then Carol likes her post, too": alice_has_read,
    "Alice posts twice and Bob once": posts_are_indexed,
}


def happen(situation: str, store: Store, monkeypatch) -> None:
    """Let all of a situation happen on an empty store."""
    site = Site(store)
    numbers: dict[int, itertools.count[int]] = {}

    def token_hex(length: int = 32) -> str:
        """Those of each length have a row of their own: a new kind of random text changes no other."""
        number = next(numbers.setdefault(length, itertools.count(1)))
        return hashlib.sha256(f"{length}:{number}".encode()).hexdigest()[: 2 * length]

    with monkeypatch.context() as patched:
        patched.setattr(time, "time", site.time)
        patched.setattr(secrets, "token_hex", token_hex)
        Memory.clear_all()
        SITUATIONS[situation](site)
