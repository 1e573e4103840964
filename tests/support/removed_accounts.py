"""Sites with an account that is deleted, the deletion at any moment, and what is left of the account."""

from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from retwis_site.store import chunks, keys
from tests.support.command_output import doctor
from tests.support.people import register
from tests.support.stored_keys import follower_counts, publish, ranking
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip
from timeline.relations.relations import Follows
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3


def three_people(store, raw, alice, bob, carol):
    """alice and bob follow each other, alice and carol too, and bob follows carol. Posts 1 and 2 are alice's, 3 is
    bob's, 4 is carol's; each home timeline has been read."""
    for follower, followed in ((ALICE, BOB), (ALICE, CAROL), (BOB, ALICE), (CAROL, ALICE), (BOB, CAROL)):
        Follows(store).follow(follower, followed)
    for author, text in ((alice, "One"), (alice, "Two"), (bob, "Three"), (carol, "Four")):
        publish(raw, store, author, text)
    for login in (alice, bob, carol):
        home_texts(store, login)
    return raw


def home_texts(store, login):
    return [post.body for post in Homes(store).page(Viewer(store, login.secret), None).page.posts]


def delete_account(store, login):
    AccountDeletion(store).delete(login.user, login.secret)


def delete_and_remove(store, login):
    """Delete an account, and let a worker remove it."""
    delete_account(store, login)
    assert drain(store, "worker") == 1


def doctor_findings(capsys, *options):
    """What `doctor` finds, as two dicts from a check's label to a number: inconsistencies and orphans."""
    return doctor(capsys, *options)[1:]


def alice_with_twelve(store, raw, monkeypatch):
    """alice and twelve users follow each other, and she has twelve posts. A worker removes them in chunks of five."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    for number in range(12):
        uid = register(store, f"person{number}").user.uid
        Follows(store).follow(uid, ALICE)
        Follows(store).follow(ALICE, uid)
    write_posts(raw, ALICE, range(1, 13))
    return raw


def delete_before_round_trip(store, login, step, work):
    """Do `work`. Before its round trip `step`, delete the account of `login`, and let a worker remove it."""
    with before_round_trip(step, lambda: delete_and_remove(store, login)):
        work()


def assert_nothing_is_left(raw, uid):
    """No follow, no post and no place in the ranking is left of a user, nor any entry at another user."""
    for key in (keys.following(uid), keys.followers(uid), keys.updates(uid)):
        assert not raw.exists(key), key
    assert raw.zscore("users_by_followers", uid) is None
    assert ranking(raw) == follower_counts(raw)
    for key in (*raw.keys("following:*"), *raw.keys("followers:*")):
        assert raw.zscore(key, uid) is None, key
