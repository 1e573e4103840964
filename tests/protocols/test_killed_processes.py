"""An action that is killed with SIGKILL between any two commands has no effect, or its full effect.

Real processes carry out whole requests on a real server. Each action is killed after 0 commands, after 1, and so on,
until it ends before the kill.
"""

import contextlib
import json

import pytest
import redis
from django.contrib.auth import authenticate
from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.name_index import NameIndex
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.maintenance.downloads import download_file
from tests.support.maintenance.site_files import empty, export, import_
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password, register
from tests.support.processes.victims import KILLED, Cut, Victims
from tests.support.protocols.relations import CASES, assert_relations_agree
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, publish, ranking
from tests.support.stores import acl_users
from tests.support.stores.key_layouts import make_due
from timeline.relations.follow import Follows
from timeline.relations.like import Likes
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

ALICE, BOB, CAROL = 1, 2, 3
SOONER, LATER = "2023-11-14T22:13:21Z", "2023-11-14T22:13:22Z"
NO_KILL = 10**9  # commands
FEWEST = 8  # commands of an action; with fewer, its commands were not counted


class Scene:
    """A site on its own server, made anew for each kill: bob and carol follow alice, and like her one post."""

    def __init__(self, cut, victims, administrator):
        self.cut = cut
        self.victims = victims
        self.raw = administrator

    def begin(self):
        self.raw.flushall()
        Memory.clear_all()
        store = connect()
        self.alice, self.bob, self.carol = (register(store, name) for name in ("alice", "bob", "carol"))
        for fan in (BOB, CAROL):
            Follows(store).follow(fan, ALICE)
        self.pid = publish(self.raw, store, self.alice, "Before")
        for fan in (BOB, CAROL):
            Likes(store).like(fan, self.pid, ALICE)
        for login in (self.alice, self.bob):  # carol has no home yet
            self.home(login)
        self.everyone()

    def home(self, login):
        return [post.body for post in Homes(connect()).page(Viewer(connect(), self.secret(login)), None).page.posts]

    def everyone(self):
        return [post.body for post in EveryoneTimeline(connect()).page(Viewer(connect(), ""), None, 50).page.posts]

    def secret(self, login):
        return self.raw.hget(f"user:{login.user.uid}", "auth")

    def finish_jobs(self):
        """A minute passes: leases end, every job is due, and `deliver --once` runs."""
        Memory.clear_all()
        for lease in self.raw.keys("lease:*"):
            self.raw.delete(lease)
        for job in self.raw.zrange("outbox", 0, -1):
            self.raw.zadd("outbox", {job: 1})
        call_command("deliver", "--once", verbosity=0)
        assert self.raw.zcard("outbox") == 0


@pytest.fixture
def scene(own_server, settings):
    with own_server():
        folder = settings.REDIS_URL.partition("@")[2].removesuffix("/redis.sock")
        cut = Cut(folder)
        victims = Victims(acl_users.url(folder).replace("redis.sock", "cut.sock"))
        try:
            yield Scene(
                cut, victims, redis.Redis.from_url(acl_users.url(folder, acl_users.ADMIN), decode_responses=True)
            )
        finally:
            victims.close()
            cut.close()


def kill_at_every_command(scene, capsys, work, check):
    """Repeat `work`, killed after one more command each time. After each kill, run `check` and `doctor`."""
    for commands in range(200):
        scene.begin()
        prepared = work(scene)
        scene.cut.after(commands)
        ended = scene.victims.run(**prepared)
        where = f"killed after {commands} commands, the last {scene.cut.last}"
        assert ended in {0, KILLED}, where
        scene.finish_jobs()
        assert_relations_agree(scene.raw, where)
        check(scene, where, ended == 0)
        assert_no_inconsistencies(capsys, where)
        if ended == 0:
            assert commands >= FEWEST
            return
    raise AssertionError("it never ended before the kill")


def assert_no_inconsistencies(capsys, where):
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        call_command("doctor", "--json")
    assert json.loads(capsys.readouterr().out)["errors"] == [], where


def test_a_registration(scene, capsys):
    def work(scene):
        form = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
        return {"path": "/register/", "form": form}

    def check(scene, where, through):
        login = authenticate(None, username="dora", password=PASSWORD)
        assert login is not None or not through, where
        if login is None:
            assert not scene.raw.hexists("users", "dora"), where
            assert register(connect(), "Dora").user.username == "Dora"
        else:
            assert scene.raw.hget("auths", login.secret) == str(login.user.uid), where
            assert scene.raw.zscore("users_by_time", "Dora"), where
            assert name_entries(scene.raw) == expected_name_entries(scene.raw), where
            assert Viewer(connect(), login.secret).user.username == "Dora", where

    kill_at_every_command(scene, capsys, work, check)


def check_post(scene, where, through):
    """Every home has the new post once, or no home has it. After the form is sent again, every home has it once."""
    seen = scene.home(scene.alice)
    assert seen in (["Before"], ["Hello", "Before"]), where
    assert len(seen) == 2 or not through, where
    for _ in range(2):
        assert scene.home(scene.bob) == scene.home(scene.carol) == scene.everyone() == seen, where
    scene.cut.after(NO_KILL)
    scene.victims.run(path="/post/", form={"body": "Hello", "token": "t"}, secret=scene.secret(scene.alice))
    Memory.clear_all()
    for login in (scene.alice, scene.bob, scene.carol):
        assert scene.home(login) == ["Hello", "Before"], where


def test_a_post(scene, capsys):
    def work(scene):
        return {"path": "/post/", "form": {"body": "Hello", "token": "t"}, "secret": scene.secret(scene.alice)}

    kill_at_every_command(scene, capsys, work, check_post)


def test_a_post_that_a_worker_delivers(scene, capsys):
    def work(scene):
        form = {"body": "Hello", "token": "t"}
        return {"path": "/post/", "form": form, "secret": scene.secret(scene.alice), "inline_limit": 1}

    kill_at_every_command(scene, capsys, work, check_post)


@pytest.mark.parametrize("left", ["whole", "its followers"])
def test_a_delivery_by_a_worker(scene, capsys, left):
    """A killed request has left the whole delivery, or a request has left the delivery to the followers."""

    def work(scene):
        pid = scene.raw.incr("next_post_id")
        scene.raw.hset(f"post:{pid}", mapping={"user_id": ALICE, "time": 1, "body": "Hello"})
        scene.raw.set(f"idem:{ALICE}:t", pid, ex=600)
        if left == "its followers":
            scene.raw.zadd(f"updates:{ALICE}", {pid: pid})
            scene.raw.lpushx(f"posts:{ALICE}", pid)
            scene.raw.lpush("timeline", pid)
        scene.raw.zadd("outbox", {f"{'post' if left == 'whole' else 'fan'}:{pid}:x": 1})
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert scene.home(scene.alice) == ["Hello", "Before"], where
        check_post(scene, where, through=True)

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("verb", ["follow", "unfollow"])
def test_a_follow_or_unfollow(scene, capsys, verb):
    def work(scene):
        publish(scene.raw, connect(), scene.carol, "By carol")
        if verb == "unfollow":
            Follows(connect()).follow(BOB, CAROL)
        scene.home(scene.bob)
        return {"path": f"/@carol/{verb}/", "form": {}, "secret": scene.secret(scene.bob)}

    def check(scene, where, through):
        since = scene.raw.zscore("following:2", CAROL)
        assert scene.raw.zscore("followers:3", BOB) == since, where
        assert ranking(scene.raw) == follower_counts(scene.raw), where
        assert scene.home(scene.bob) == (["By carol", "Before"] if since else ["Before"]), where
        assert not through or (since is not None) == (verb == "follow"), where

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_edges_that_a_worker_finishes(scene, capsys, case):
    """Two requests have died: alice's after it has set her edge, carol's after it has removed hers."""

    def work(scene):
        case.set(connect(), CAROL)()
        case.die_after_commit(connect(), "set", ALICE)
        case.die_after_commit(connect(), "unset", CAROL)
        make_due(scene.raw)
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert None not in case.scores(scene.raw, ALICE), where
        assert case.scores(scene.raw, CAROL) == (None, None), where

    kill_at_every_command(scene, capsys, work, check)


def test_a_deletion(scene, capsys):
    def work(scene):
        return {"path": f"/@alice/{scene.pid}/delete/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        deleted = scene.raw.hexists(f"post:{scene.pid}", "deleted")
        assert deleted or not through, where
        assert scene.raw.zcard("updates:1") == (0 if deleted else 1), where
        assert (scene.raw.ttl(f"post:{scene.pid}") > 0) == deleted, where
        for login in (scene.alice, scene.bob, scene.carol):
            assert scene.home(login) == ([] if deleted else ["Before"]), where

    kill_at_every_command(scene, capsys, work, check)


def test_a_logout(scene, capsys):
    def work(scene):
        return {"path": "/logout/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        now = scene.secret(scene.alice)
        assert now != scene.alice.secret or not through, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated == (now == scene.alice.secret), where
        assert Viewer(connect(), now).user.is_authenticated, where
        assert authenticate(None, username="alice", password=PASSWORD).secret == now, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_password_change(scene, capsys):
    def work(scene):
        form = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
        return {"path": "/settings/password/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        now = scene.secret(scene.alice)
        changed = authenticate(None, username="alice", password=NEW_PASSWORD) is not None
        assert changed or not through, where
        assert changed == (now != scene.alice.secret), where
        assert (authenticate(None, username="alice", password=PASSWORD) is None) == changed, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated != changed, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_login_with_an_old_hash(scene, capsys):
    def work(scene):
        give_old_password(scene.raw, ALICE)
        return {"path": "/login/", "form": {"username": "alice", "password": PASSWORD}}

    def check(scene, where, through):
        replaced, left = (scene.raw.hexists("user:1", field) for field in ("password", "old_password"))
        assert replaced != left, where
        assert replaced or not through, where
        assert scene.secret(scene.alice) == scene.alice.secret, where
        assert authenticate(None, username="alice", password=PASSWORD).secret == scene.alice.secret, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_new_display_name_and_bio(scene, capsys):
    def work(scene):
        NameIndex(connect()).edit(scene.alice.user, "Anna", "old")
        form = {"name": "Ann: of Cleves", "bio": "new"}
        return {"path": "/settings/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        stored = tuple(scene.raw.hmget("user:1", "name", "bio"))
        assert stored in {("Anna", "old"), ("Ann: of Cleves", "new")}, where
        assert stored[1] == "new" or not through, where
        assert name_entries(scene.raw) == expected_name_entries(scene.raw), where
        assert len(name_entries(scene.raw)) == 4, where

    kill_at_every_command(scene, capsys, work, check)


def check_account_deletion(scene, where, through):
    """alice has all her data or none. Both others follow her; she has a post and follows carol."""
    deleted = scene.raw.hexists("user:1", "deleted")
    assert deleted or not through, where
    assert scene.raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}, where
    assert ranking(scene.raw) == follower_counts(scene.raw) == ({} if deleted else {"1": 2, "3": 1}), where
    for login in (scene.bob, scene.carol):
        assert scene.home(login) == ([] if deleted else ["Before"]), where
    assert scene.everyone() == ([] if deleted else ["Before"]), where
    assert Viewer(connect(), scene.alice.secret).user.is_authenticated != deleted, where
    assert (authenticate(None, username="alice", password=PASSWORD) is None) == deleted, where
    if not deleted:
        return
    assert scene.raw.hgetall("user:1").keys() == {"username", "deleted"}, where
    for key in ("following:1", "followers:1", "updates:1", "posts:1", "following:2", "following:3", "followers:3"):
        assert not scene.raw.exists(key), (where, key)
    assert scene.raw.zrange("users_by_time", 0, -1) == ["bob", "carol"], where
    assert scene.raw.hget(f"post:{scene.pid}", "body") == "", where
    assert scene.raw.ttl(f"post:{scene.pid}") > 0, where


def test_the_deletion_of_an_account(scene, capsys):
    def work(scene):
        Follows(connect()).follow(ALICE, CAROL)
        return {"path": "/settings/delete/", "form": {"password": PASSWORD}, "secret": scene.secret(scene.alice)}

    kill_at_every_command(scene, capsys, work, check_account_deletion)


def test_a_worker_that_removes_a_deleted_account(scene, capsys):
    def work(scene):
        Follows(connect()).follow(ALICE, CAROL)
        AccountDeletion(connect()).delete(scene.alice.user, scene.secret(scene.alice))
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        check_account_deletion(scene, where, through=True)

    kill_at_every_command(scene, capsys, work, check)


def test_a_rebuild(scene, capsys):
    def work(scene):
        return {"path": "/", "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        publish(scene.raw, connect(), scene.alice, "After")
        assert scene.home(scene.carol) == ["After", "Before"], where
        assert scene.home(scene.carol) == ["After", "Before"], where

    kill_at_every_command(scene, capsys, work, check)


def test_an_import_of_a_whole_site(scene, capsys, tmp_path):
    """After a kill, the next run completes it."""
    path = tmp_path / "site.jsonl"

    def work(scene):
        export(path)
        empty(scene.raw)
        return {"command": ["import", str(path)]}

    def check(scene, where, through):
        if scene.raw.get("next_user_id") != "3":
            assert not through, where
            import_(path)
        assert scene.raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}, where
        assert ranking(scene.raw) == follower_counts(scene.raw) == {"1": 2}, where
        assert scene.everyone() == scene.home(scene.bob) == ["Before"], where
        assert scene.raw.mget("next_post_id", "schema") == ["1", "1"], where

    kill_at_every_command(scene, capsys, work, check)


def test_an_import_of_a_download(scene, capsys, tmp_path):
    """After a kill, a worker finishes the posts that were written, and the next run brings back the others."""
    path = tmp_path / "download.jsonl"

    def work(scene):
        path.write_bytes(download_file([(7, LATER, "later"), (6, SOONER, "sooner")]))
        return {"command": ["import_account", str(path), "--into-existing"]}

    def check(scene, where, through):
        bodies = [scene.raw.hget(f"post:{pid}", "body") for pid in scene.raw.zrange("updates:1", 0, -1)]
        assert set(bodies) <= {"Before", "sooner", "later"}, where
        assert len(bodies) == len(set(bodies)) == 3 or not through, where
        assert scene.home(scene.bob) == scene.everyone() == bodies[::-1], where
        call_command("import_account", str(path), "--into-existing", verbosity=0)
        assert sorted(scene.home(scene.bob)) == ["Before", "later", "sooner"], where
        assert sorted(scene.everyone()) == ["Before", "later", "sooner"], where
        call_command("cleanup", verbosity=0)

    kill_at_every_command(scene, capsys, work, check)
