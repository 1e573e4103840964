"""Sites with an account that is deleted, the deletion at any moment, and what is left of the account."""

from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.stored_keys import publish
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
