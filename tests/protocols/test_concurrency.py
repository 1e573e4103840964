"""Fifty clients at once: no invariant is broken, and every home is the merge of its sources.

A seed decides what each client does. Ten accounts have two clients, so they also change under their own user.
"""

import json
import random
import threading
from pathlib import Path

import pytest
import redis

from accounts.signing_in.viewer import Viewer
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.http.http_browser import Browser
from tests.support.people import PASSWORD
from tests.support.processes.processes import environment, free_port, manage, run_site, wait_until
from tests.support.runs import sampling
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, noted, ranking
from tests.support.stores import acl_users
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

SPLIT = {"POST_IDS": "snowflake", "TIMELINE_SHARDS": "3", "OUTBOX_SHARDS": "3"}  # the web workers share a NODE_ID
SEED = 20
CLIENTS = 50
TWO_DEVICES = 10  # accounts with two clients
STEPS = sampling.shorter(50, 8)  # of each client
WEIGHTS = {
    "post": 30,
    "read": 25,
    "follow": 20,
    "unfollow": 8,
    "delete": 10,
    "log_out": 3,
    "double_click": 4,
    "edit": 5,
    "leave": 6,
}


class Client:
    """A user with a browser. A seed decides what they do."""

    def __init__(self, number, port, names, left):
        self.random = random.Random(f"{SEED}/{number}")
        self.browser = Browser(port)
        self.names = names
        self.left = left  # usernames of deleted accounts
        self.name = self.first_name = f"user_{number % (CLIENTS - TWO_DEVICES)}"
        self.lives = 1
        self.alone = TWO_DEVICES <= number < CLIENTS - TWO_DEVICES
        self.texts = set()  # of their posts
        self.following = set()
        self.about = None, None  # display name and bio
        self.errors = []

    def run(self):
        try:
            self.sign_in()
            for _ in range(STEPS):
                [step] = self.random.choices(list(WEIGHTS), WEIGHTS.values())
                getattr(self, step)()
        except Exception as error:
            self.errors.append(f"{self.name}: {error!r}")

    def page(self, path):
        answer = self.browser.ask(path)
        assert answer.status in {200, 404, 410}, f"{path}: {answer.status}"
        return answer

    def send(self, path, action, **fields):
        """Fill in a form of a page. Returns False when the form is missing or refused: another client may have logged
        out."""
        answer = self.page(path)
        if f'action="{action}"' not in answer.page:
            return False
        sent = self.browser.ask(action, {**answer.form(action), **fields})
        assert sent.status in {200, 403, 404, 410, 422}, f"{action}: {sent.status}"
        return sent.status == 200

    def sign_in(self):
        fields = {"username": self.name, "password1": PASSWORD, "password2": PASSWORD}
        if not self.send("/register/", "/register/", **fields):
            self.send("/login/", "/login/", username=self.name, password=PASSWORD)
        self.names.add(self.name)

    def another_user(self):
        return self.random.choice(sorted(self.names - {self.name}) or [self.name])

    def post(self, clicks=1):
        text = f"{self.name} {self.random.getrandbits(64):x}"
        answer = self.page("/")
        if 'action="/post/"' not in answer.page:
            self.sign_in()
            return
        for _ in range(clicks):
            page = self.browser.ask("/post/", {**answer.form("/post/"), "body": text})
            assert page.status in {200, 403}, page.status
            if page.status == 200 and 'action="/logout/"' in page.page:
                self.texts.add(text)

    def double_click(self):
        self.post(clicks=2)

    def read(self):
        self.page(self.random.choice(["/", "/timeline/", f"/@{self.another_user()}/"]))

    def follow(self):
        them = self.another_user()
        if self.send(f"/@{them}/", f"/@{them}/follow/"):
            self.following.add(them)

    def unfollow(self):
        if self.following:
            them = self.random.choice(sorted(self.following))
            if self.send(f"/@{them}/", f"/@{them}/unfollow/"):
                self.following.discard(them)

    def delete(self):
        page = self.page(f"/@{self.name}/").page
        actions = [line.partition('action="')[2].partition('"')[0] for line in page.splitlines() if "/delete/" in line]
        if not actions:
            return
        action = self.random.choice(actions)
        post = self.page(action.removesuffix("delete/")).page
        if self.send(f"/@{self.name}/", action):
            self.texts -= {text for text in self.texts if text in post}

    def edit(self):
        """The display name is one of four, so users share them."""
        name, bio = f"Name {self.random.randrange(4)}", f"{self.random.getrandbits(64):x}"
        if self.send("/settings/", "/settings/", name=name, bio=bio):
            self.about = name, bio

    def log_out(self):
        self.send("/", "/logout/")
        self.sign_in()

    def leave(self):
        """Delete the account and register another name."""
        if not self.alone or not self.send("/settings/delete/", "/settings/delete/", password=PASSWORD):
            return
        self.left.add(self.name)
        self.names.discard(self.name)
        self.lives += 1
        self.name = f"{self.first_name}_{self.lives}"
        self.texts, self.following = set(), set()
        self.about = (None, None)
        self.sign_in()


@pytest.fixture
def administrator(own_server, settings):
    with own_server("--appendonly", "yes"):
        folder = Path(settings.REDIS_URL.partition("@")[2]).parent
        yield redis.Redis.from_url(acl_users.url(str(folder), acl_users.ADMIN), decode_responses=True)


@pytest.mark.parametrize("keys_are", [{}, SPLIT], ids=["one key each", "split keys"])
def test_fifty_clients_leave_consistent_data(administrator, settings, tmp_path, keys_are):
    raw = administrator
    changes = {"REDIS_URL": settings.REDIS_URL, "THROTTLE": "0", "DELIVER_INLINE_LIMIT": "10", **keys_are}

    for name, value in keys_are.items():
        setattr(settings, name, int(value) if value.isdigit() else value)
    with run_site(tmp_path / "var", tmp_path / "log", free_port(), **changes) as site:
        site.wait_until_it_serves()
        names, left = set(), set()
        clients = [Client(number, site.port, names, left) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert_no_inconsistencies(tmp_path, changes)
        for thread in threads:
            thread.join()
        assert [error for client in clients for error in client.errors] == []
        wait_until(lambda: not noted(raw), "the last deliveries")

        assert_no_inconsistencies(tmp_path, changes)
    assert_homes_are_merges(raw)
    assert_everyone_has_the_newest_posts(raw)
    for client in clients:
        if client.alone:
            assert_stored(client, raw)
    assert left
    for name in left:
        assert_no_data_of(name, raw)
    assert ranking(raw) == follower_counts(raw)
    assert expected_name_entries(raw).items() <= name_entries(raw).items()
    manage("cleanup", env=environment(tmp_path / "var", **changes))
    assert name_entries(raw) == expected_name_entries(raw)


def assert_no_inconsistencies(tmp_path, changes):
    """`doctor` does not report unfinished work as an inconsistency."""
    doctor = manage("doctor", "--json", env=environment(tmp_path / "var", **changes))
    assert doctor.returncode == 0, doctor.stdout
    assert json.loads(doctor.stdout)["errors"] == []


def assert_homes_are_merges(raw):
    """All pages of each home, as stored and after a rebuild."""
    for uid in sorted(raw.hvals("users")):
        if raw.hexists(f"user:{uid}", "deleted"):
            continue
        sources = [uid, *raw.zrange(f"following:{uid}", 0, -1)]
        written = [int(pid) for source in sources for pid in raw.zrange(f"updates:{source}", 0, -1)]
        merged = sorted(written, reverse=True)
        assert home(raw, uid) == merged, uid
        raw.delete(f"posts:{uid}")
        assert home(raw, uid) == merged, uid


def home(raw, uid):
    Memory.clear_all()
    viewer = Viewer(connect(), raw.hget(f"user:{uid}", "auth"))
    pids, before = [], None
    while True:
        page = Homes(connect()).page(viewer, before).page
        pids += [post.pid for post in page.posts]
        before = page.older
        if before is None:
            return pids


def assert_everyone_has_the_newest_posts(raw):
    existing = [int(pid) for uid in raw.hvals("users") for pid in raw.zrange(f"updates:{uid}", 0, -1)]
    shown = EveryoneTimeline(connect()).page(Viewer(connect(), ""), None, 50).page.posts
    assert [post.pid for post in shown] == sorted(existing, reverse=True)[:50]


def assert_stored(client, raw):
    """The store has all that this client did. No other client had the account."""
    uid = raw.hget("users", client.name)
    assert tuple(raw.hmget(f"user:{uid}", "name", "bio")) == client.about
    followed = {raw.hget(f"user:{other}", "username") for other in raw.zrange(f"following:{uid}", 0, -1)}
    assert followed == client.following - client.left
    assert {raw.hget(f"post:{pid}", "body") for pid in raw.zrange(f"updates:{uid}", 0, -1)} == client.texts


def assert_no_data_of(name, raw):
    """A deleted account has no follows, no posts and no place among the users."""
    uid = raw.hget("users", name)
    for key in (f"following:{uid}", f"followers:{uid}", f"updates:{uid}"):
        assert not raw.exists(key), (name, key)
    assert raw.zscore("users_by_time", name) is None, name
    assert not raw.hexists(f"user:{uid}", "password"), name
