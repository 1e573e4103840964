"""The whole deletion of an account comes between two parts of a round trip of another change: nothing of it is left."""

import itertools

import pytest
from django.contrib.auth.hashers import make_password

from accounts.community.refusals import Refused
from accounts.community.roles import Roles
from accounts.community.sanctions import Sanctions
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import AccountDeleted, NoSuchUser, Role, State, User, Verified
from accounts.users.name_index import NameIndex
from accounts.users.repository import Users
from retwis_site.exceptions import StoreError
from retwis_site.features import account_sets
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from tests.support.people import give_old_password
from tests.support.protocols.community import MODERATOR, finish_all_but_removals, make_moderated_site
from tests.support.protocols.interleaving import attempt, carry_out
from tests.support.protocols.small_site import ALICE, BOB, CAROL
from tests.support.protocols.thoroughness import examples
from tests.support.stores.seam import before_part
from timeline.account_data.restoring import OldPost, Restoring
from timeline.moderation.reports.deciding import Deciding
from timeline.moderation.reports.repository import Action, NewReport, Reports
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, TargetRefused
from timeline.posts.repository import Posts
from timeline.posts.writing.deletion import delete_by_staff
from timeline.posts.writing.reposting import Reposts
from timeline.timelines.profile import Pins

REFUSALS = (Refused, NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, TargetRefused, StoreError)
ROUNDS = 5  # each takes the round trips apart in its own way


def decide(store, action):
    for report in Reports(store).open(None, 1):
        Deciding(store).decide(report, action, "Spam.", 0, MODERATOR)


def restore(store):
    restoring = Restoring(store, CAROL)
    restoring.begin()
    restoring.write([OldPost(900, 5, "sooner"), OldPost(901, 6, "later")])


# What carol does, and what is done to her.
CHANGES = {
    "her registration is finished": lambda s: carry_out(s, "user:3"),
    "she has another name": lambda s: NameIndex(s).edit(User(CAROL, "carol"), "Caroline", "Me"),
    "she logs in": lambda s: Sessions(s).open(Verified(User(CAROL, "carol")), Device()),
    "she logs out everywhere": lambda s: Sessions(s).end_all(CAROL),
    "she changes her password": lambda s: Sessions(s).change_password(CAROL, make_password(None)),
    "her old password is replaced": lambda s: Sessions(s).replace_old_password(CAROL, "secret3", make_password(None)),
    "she chooses a language": lambda s: Users(s).choose_language(CAROL, "de"),
    "she appeals": lambda s: Sanctions(s).appeal(CAROL, "It was not me."),
    "she reports someone": lambda s: Reports(s).make(CAROL, NewReport(BOB, None, "spam")),
    "she posts": lambda s: Posts(s).publish(CAROL, NewPost("for @alice #tag", reply_to=1), "t"),
    "she edits": lambda s: Posts(s).edit(CAROL, 2, "for @alice #tag"),
    "she reposts": lambda s: Reposts(s).repost(CAROL, 1, BOB),
    "she pins": lambda s: Pins(s).pin(CAROL, 2),
    "she is restored": restore,
    "she is answered": lambda s: Posts(s).publish(ALICE, NewPost("for @carol", reply_to=2), "t"),
    "she is reported": lambda s: Reports(s).make(ALICE, NewReport(CAROL, None, "spam")),
    "she is warned": lambda s: decide(s, Action.WARN),
    "she is hidden": lambda s: Sanctions(s).impose(CAROL, State.HIDDEN, "Spam."),
    "her appeal is granted": lambda s: Sanctions(s).decide_appeal(CAROL, True, MODERATOR, "Sorry."),
    "she is a moderator": lambda s: Roles(s).give(CAROL, Role.MODERATOR),
    "her post is deleted by staff": lambda s: delete_by_staff(s, 2, MODERATOR, "Spam."),
}


def begin(store, raw, change):
    make_moderated_site(raw)
    if "registration" in change:
        raw.zadd(keys.outbox("user:3"), {"user:3": 2**40})
    if "appeal" in change:
        Sanctions(store).impose(CAROL, State.FROZEN, "Spam.")
    if "granted" in change:
        Sanctions(store).appeal(CAROL, "It was not me.")
    if "warned" in change:
        Reports(store).make(BOB, NewReport(CAROL, None, "spam"))
    if "old password" in change:
        give_old_password(raw, CAROL)


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_left_of_an_account_that_is_deleted_in_the_middle(store, raw, change):
    def leave():
        AccountDeletion(store).delete(User(CAROL, "carol"), "secret3")
        drain(store, "worker")

    for _ in range(examples(ROUNDS)):
        for step in itertools.count():
            begin(store, raw, change)
            with before_part(step, leave) as happened:
                attempt(lambda: CHANGES[change](store), *REFUSALS)()
            if not happened:
                break
            finish_all_but_removals(store, raw)
            assert_nothing_is_left(raw, step)


def assert_nothing_is_left(raw, where):
    left = {field for field in raw.hgetall("user:3") if not field.startswith(("answer:", "session:"))}
    assert left == {"username", "deleted"}, where
    for account_set in account_sets():
        assert not raw.exists(account_set.key(CAROL)), (where, account_set.key(CAROL))
    assert raw.zscore("users_by_time", "carol") is None, where
    assert [entry for entry in raw.zrange("users_by_name", 0, -1) if entry.endswith(":3")] == [], where
    assert raw.hget("staff", "3") is None, where
    assert raw.zrange("appeals", 0, -1) == [], where
    assert raw.keys("report:*") == [] or not any(raw.hget(key, "who") == "3" for key in raw.keys("report:*")), where
    for post in [raw.hgetall(key) for key in raw.keys("post:*")]:
        assert post.get("user_id") != "3" or ("deleted" in post and post["body"] == ""), where
