"""Accounts that are deleted and removed, and what is left of them."""

import contextlib
import json

from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from retwis_site.jobs.worker import drain
from retwis_site.store import chunks, keys
from tests.support.people import register
from tests.support.stored_keys import counted, publish, ranked
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip
from timeline.relations.follow import Follows
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3


def three_people(store, raw, alice, bob, carol):
    """alice follows bob and carol, who follow her; all have written; post 1 and 2 are hers."""
    for follower, followed in ((ALICE, BOB), (ALICE, CAROL), (BOB, ALICE), (CAROL, ALICE), (BOB, CAROL)):
        Follows(store).follow(follower, followed)
    for author, text in ((alice, "One"), (alice, "Two"), (bob, "Three"), (carol, "Four")):
        publish(raw, store, author, text)
    for login in (alice, bob, carol):
        home(store, login)
    return raw


def home(store, login):
    return [post.body for post in Homes(store).page(Viewer(store, login.secret), None).page.posts]


def leave(store, login):
    AccountDeletion(store).delete(login.user, login.secret)


def left_and_cleared(store, login):
    leave(store, login)
    assert drain(store, "worker") == 1


def found(capsys, *options):
    """What `doctor` finds: errors and debris, label -> how many."""
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        call_command("doctor", "--json", *options)
    told = json.loads(capsys.readouterr().out)
    return tuple({one["check"]: one["found"] for one in told[kind]} for kind in ("errors", "debris"))


def twelve_around_alice(store, raw, monkeypatch):
    """Twelve follow alice and are followed by her, she has written twelve posts; five at a time are cleared."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    for number in range(12):
        them = register(store, f"person{number}").user.uid
        Follows(store).follow(them, ALICE)
        Follows(store).follow(ALICE, them)
    write_posts(raw, ALICE, range(1, 13))
    return raw


def meanwhile(store, login, step, work):
    """Do something, and before its round trip `step` an account goes, and a worker clears it."""
    with before_round_trip(step, lambda: left_and_cleared(store, login)):
        work()


def nothing_is_left(raw, uid):
    for key in (keys.following(uid), keys.followers(uid), keys.updates(uid)):
        assert not raw.exists(key), key
    assert raw.zscore("users_by_followers", uid) is None
    assert ranked(raw) == counted(raw)
    for key in (*raw.keys("following:*"), *raw.keys("followers:*")):
        assert raw.zscore(key, uid) is None, key
