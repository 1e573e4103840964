"""An action that is killed between any two round trips has no effect, or its full effect once a worker has run.
Logins and password changes too. What a form of the site does is killed in `killed/`."""

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.signing_in.sessions.entities import MOST_SESSIONS, Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User, Verified
from accounts.users.names import NameIndex
from retwis_site.jobs.worker import drain
from tests.support.people import LONG_AGO, NEW_PASSWORD, PASSWORD, log_in, signed_in
from tests.support.protocols.small_site import finish_jobs
from tests.support.removed_accounts import home_texts
from tests.support.stored_keys import expected_name_entries, name_entries, noted, ranking
from tests.support.stores.seam import killed_before_round_trip
from timeline.posts.delivery import Delivery
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.edges import Edges
from timeline.relations.relations import FOLLOW, Follows
from timeline.timelines.everyone import EveryoneTimeline


@pytest.mark.parametrize("step", range(1, 11))
def test_a_post(store, layout, alice, bob, raw, step):
    layout.begin_at(1)
    Follows(store).follow(2, 1)
    home_texts(store, bob)
    home_texts(store, alice)
    killed = killed_before_round_trip(step, lambda: Posts(store).publish(1, NewPost("Hello"), "t"))
    assert not killed or step < 10
    committed = noted(raw) != [] or not killed
    finish_jobs(store, raw)
    expected = ["Hello"] if committed else []
    assert home_texts(store, alice) == home_texts(store, bob) == expected
    page = EveryoneTimeline(store).page(Viewer(store, ""), None, 50).page
    assert [post.body for post in page.posts] == expected
    assert raw.zcard("updates:1") == len(expected)
    # A second click gives the same post, also after a killed first one.
    Posts(store).publish(1, NewPost("Hello again"), "t")
    assert len(home_texts(store, bob)) == 1
    assert raw.zcard("updates:1") == 1
    assert noted(raw) == []
    call_command("doctor", verbosity=0)
    call_command("cleanup", verbosity=0)
    assert raw.keys("post:*") == [f"post:{raw.zrange('updates:1', 0, -1)[0]}"]


@pytest.mark.parametrize("step", range(1, 9))
def test_a_new_display_name_after_a_killed_one(store, alice, raw, step):
    """The killed change may leave an index entry, which `cleanup` removes."""
    index = NameIndex(store)
    killed = killed_before_round_trip(step, lambda: index.edit(alice.user, "Ann", ""))
    assert not killed or step < 8
    index.edit(User(1, "Alice", raw.hget("user:1", "name") or ""), "Bea", "")
    finish_jobs(store, raw)
    assert expected_name_entries(raw).items() <= name_entries(raw).items()
    call_command("cleanup", verbosity=0)
    assert name_entries(raw) == {"alice:1": 0, "bea:1": 0}


def test_a_redelivery_drops_homes_instead_of_pushing_old_ids(store, alice, bob, raw, sent):
    Follows(store).follow(2, 1)
    Posts(store).publish(1, NewPost("Hello"), "t")
    home_texts(store, bob)
    raw.zadd("outbox", {"post:1:x": 1})
    sent.round_trips.clear()
    assert drain(store, "worker") == 1
    assert ("UNLINK", "posts:2") in sent.commands
    assert not any(command[0].startswith("LPUSH") for command in sent.commands)
    assert home_texts(store, bob) == ["Hello"]


def test_two_workers_with_one_job_do_no_harm(store, alice, bob, raw):
    Follows(store).follow(2, 1)
    Posts(store).publish(1, NewPost("Hello"), "t")
    for _ in range(2):
        Delivery(store).redeliver(1)
        Edges(store, FOLLOW).finish("follow:2:1:x")
    assert home_texts(store, bob) == ["Hello"]
    assert raw.zcard("followers:1") == 1
    assert ranking(raw) == {"1": 1}


def test_a_follow_after_a_killed_unfollow_has_one_date(store, alice, bob, raw):
    Follows(store).follow(2, 1)
    raw.zadd("following:2", {"1": LONG_AGO})
    raw.zadd("followers:1", {"2": LONG_AGO})
    assert killed_before_round_trip(2, lambda: Follows(store).unfollow(2, 1))
    Follows(store).follow(2, 1)
    finish_jobs(store, raw)
    assert raw.zscore("followers:1", "2") == raw.zscore("following:2", "1") > LONG_AGO


# ---- Logins, logouts and password changes that are killed between any two round trips.


SESSION_STEPS = range(11)


def sessions_of(raw):
    return {name.partition(":")[2] for name in raw.hkeys("user:1") if name.startswith("session:")}


def check_the_keys(raw):
    """What is left is harmless, and `cleanup` removes it."""
    call_command("doctor", verbosity=0)
    call_command("cleanup", verbosity=0)
    assert raw.hgetall("auths") == dict.fromkeys([raw.hget("user:1", "auth"), *sessions_of(raw)], "1")
    used = {name.partition(":")[2] for name in raw.hkeys("user:1") if name.startswith("used:")}
    assert used <= sessions_of(raw)


@pytest.mark.parametrize("verb", ["end_all", "change_password"])
@pytest.mark.parametrize("step", SESSION_STEPS)
def test_the_end_of_all_sessions(store, alice, raw, step, verb):
    phone = log_in(store)
    arguments = () if verb == "end_all" else (make_password(NEW_PASSWORD),)
    killed = killed_before_round_trip(step, lambda: getattr(Sessions(store), verb)(1, *arguments))
    changed = raw.hget("user:1", "auth") != alice.secret
    assert changed or killed
    assert changed == (step > 3)
    assert signed_in(store, phone) == signed_in(store, alice) == (not changed)  # at once
    finish_jobs(store, raw)
    assert sessions_of(raw) == (set() if changed else {phone.secret})
    check_the_keys(raw)
    new = NEW_PASSWORD if changed and verb == "change_password" else PASSWORD
    assert signed_in(store, log_in(store, password=new))
    assert (log_in(store, password=NEW_PASSWORD) is not None) == (new == NEW_PASSWORD)


@pytest.mark.parametrize("step", range(3))
def test_the_end_of_one_session(store, alice, raw, step):
    phone, desktop = log_in(store), log_in(store)
    raw.hset("user:1", f"used:{phone.secret}", "3600")
    killed = killed_before_round_trip(step, lambda: Sessions(store).end(1, phone.secret))
    assert killed == (step < 2)
    assert signed_in(store, phone) == (step == 0)
    assert signed_in(store, desktop)
    assert signed_in(store, alice)
    check_the_keys(raw)


@pytest.mark.parametrize("step", range(5))
def test_a_login(store, alice, raw, step):
    for _ in range(MOST_SESSIONS):
        log_in(store)
    raw.hset("user:1", mapping={"session:ended": "1:earlier:Firefox:Linux", "used:ended": "3600"})
    raw.hset("auths", "ended", "1")
    before = sessions_of(raw)
    killed = killed_before_round_trip(step, lambda: Sessions(store).open(Verified(alice.user), Device()))
    assert killed == (step < 4)
    assert len(sessions_of(raw) - before) == (step > 1)
    if killed and step > 1:  # one more than there may be, until a login or `doctor --fix`
        call_command("doctor", "--fix", verbosity=0)
    check_the_keys(raw)
    assert len(sessions_of(raw)) == MOST_SESSIONS
