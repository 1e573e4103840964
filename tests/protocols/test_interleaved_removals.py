"""Actions interleaved with the deletion of an account, with and without killed processes: no data of it is left."""

import itertools
from functools import partial

import pyotp
import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.apps.repository import OUT_OF_BAND, Code, Tokens
from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.recovery.codes import RecoveryCodes, ResetLinks
from accounts.second_factor.repository import Passkey, SecondFactors, Totp
from accounts.signing_in.factors import remove_factors
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import AccountDeleted, NoSuchUser, Refused, Role, State, User, Verified
from accounts.users.names import NameIndex
from accounts.users.repository import Users
from retwis_site.exceptions import StoreError
from retwis_site.features import account_sets
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from tests.support.command_output import report_of
from tests.support.people import give_old_password
from tests.support.protocols.community import MODERATOR, finish_all_but_removals, make_moderated_site
from tests.support.protocols.interleaving import attempt, carry_out, interleave
from tests.support.protocols.small_site import (
    ALICE,
    BOB,
    CAROL,
    NAMES,
    Acts,
    existing_posts,
    finish_jobs,
    make_small_site,
)
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, noted, ranking
from tests.support.stores.seam import before_part, examples
from timeline.account_data.restoring import GoneMeanwhile
from timeline.moderation.reports import Action, NewReport, Reports
from timeline.notices import Inbox
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, TargetRefused
from timeline.posts.repository import Posts, delete_by_staff
from timeline.timelines.profile import Pins

RUNS = 5  # seeds for each scenario


def remove(acts, uid):
    """A worker with the job that removes the account; another worker may have it, too."""
    return partial(carry_out, acts.store, f"gone:{uid}:another")


def change_password(acts, uid):
    return partial(Sessions(acts.store).change_password, uid, "another hash")


# The deletion of an account, and what happens at the same time.
SCENARIOS = {
    "I follow a user": lambda s: [s.delete_account(BOB), s.worker("one"), s.follow(BOB, CAROL)],
    "a user follows me": lambda s: [s.delete_account(BOB), s.worker("one"), s.follow(ALICE, BOB)],
    "a user follows me, two workers, a reader": lambda s: [
        s.delete_account(CAROL),
        s.worker("one"),
        remove(s, CAROL),
        s.follow(BOB, CAROL),
        s.home,
    ],
    "a user follows and unfollows me": lambda s: [
        s.delete_account(BOB),
        remove(s, BOB),
        s.follow(ALICE, BOB),
        s.unfollow(ALICE, BOB),
    ],
    "I unfollow a user": lambda s: [
        s.delete_account(ALICE),
        remove(s, ALICE),
        s.unfollow(ALICE, CAROL),
        s.follow(BOB, CAROL),
    ],
    "a user unfollows me": lambda s: [s.delete_account(CAROL), remove(s, CAROL), s.unfollow(ALICE, CAROL)],
    "I post": lambda s: [s.delete_account(CAROL), s.worker("one"), s.post(CAROL), s.everyone],
    "I post with a double click, two workers": lambda s: [
        s.delete_account(CAROL),
        s.worker("one"),
        remove(s, CAROL),
        s.post(CAROL),
        s.post(CAROL),
    ],
    "I delete a post": lambda s: [s.delete_account(CAROL), remove(s, CAROL), s.delete(CAROL, 2), s.post(CAROL)],
    "I log out and change my password": lambda s: [
        s.delete_account(ALICE),
        s.worker("one"),
        partial(Sessions(s.store).end_all, ALICE),
        change_password(s, ALICE),
    ],
    "I change name, language and password": lambda s: [
        s.delete_account(ALICE),
        remove(s, ALICE),
        partial(NameIndex(s.store).edit, User(ALICE, "alice"), "Ann", "Me"),
        partial(Users(s.store).choose, ALICE, "language", "de"),
        change_password(s, ALICE),
    ],
    "I delete my account twice": lambda s: [
        s.delete_account(CAROL),
        s.delete_account(CAROL),
        s.worker("one"),
        s.worker("two"),
    ],
    "two users delete their accounts": lambda s: [
        s.delete_account(ALICE),
        s.delete_account(CAROL),
        s.worker("one"),
        s.worker("two"),
    ],
    "a worker finishes my registration": lambda s: [
        s.delete_account(ALICE),
        remove(s, ALICE),
        partial(carry_out, s.store, "user:1"),
    ],
}


def deleted(raw):
    return [uid for uid in NAMES if raw.hexists(f"user:{uid}", "deleted")]


def assert_no_data_of(raw, uid, where):
    for key in (keys.following(uid), keys.followers(uid), keys.updates(uid)):
        assert not raw.exists(key), (where, key)
    assert raw.zscore("users_by_time", NAMES[uid]) is None, where
    assert raw.zscore("users_by_followers", uid) is None, where
    assert raw.hget("users", NAMES[uid]) == str(uid), where
    for other in NAMES:
        assert raw.zscore(keys.following(other), uid) is None, (where, other)
        assert raw.zscore(keys.followers(other), uid) is None, (where, other)
    for key in raw.keys("post:*"):
        if raw.hget(key, "user_id") == str(uid) and raw.hexists(key, "deleted"):
            assert raw.hget(key, "body") == "", (where, key)
            assert raw.ttl(key) > 0, (where, key)


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_data_of_a_deleted_account_is_left(acts, store, raw, layout, capsys, scenario, kills):
    deletions = 0
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        if "registration" in scenario:
            raw.zadd(keys.outbox("user:1"), {"user:1": 2**40})
        acts.everyone()
        interleave(seed, kills, SCENARIOS[scenario](acts))
        finish_jobs(store, raw)
        for uid in deleted(raw):
            deletions += 1
            assert_no_data_of(raw, uid, seed)
            assert not Viewer(store, raw.hget(f"user:{uid}", "auth") or "nothing").user.is_authenticated, seed
        assert ranking(raw) == follower_counts(raw), seed
        for one in NAMES:
            for other in NAMES:
                assert raw.zscore(f"following:{one}", other) == raw.zscore(f"followers:{other}", one), seed
        Memory.clear_all()
        assert acts.everyone() == existing_posts(raw, NAMES), seed
        for uid in () if kills else deleted(raw):
            assert set(raw.hgetall(f"user:{uid}")) <= {"username", "deleted", "seen"}, seed
            assert name_entries(raw).keys().isdisjoint({f"{NAMES[uid]}:{uid}", f"ann:{uid}"}), seed
        call_command("cleanup", verbosity=0)
        assert name_entries(raw) == expected_name_entries(raw), seed
        for uid in deleted(raw):
            assert set(raw.hgetall(f"user:{uid}")) == {"username", "deleted"}, seed
        assert noted(raw) == [], seed
        assert report_of(capsys)[1]["errors"] == [], seed
    assert deletions >= examples(RUNS) // 2


# ---- The whole deletion of an account comes between two parts of a round trip of another change: nothing of it is
# left.


REFUSALS = (Refused, NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, TargetRefused, GoneMeanwhile, StoreError)
ROUNDS = 5  # each takes the round trips apart in its own way


def decide(store, action):
    for report in Reports(store).open(None, 1):
        Reports(store).decide(report, MODERATOR, [action], "Spam.")


APP = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

# What carol does, and what is done to her.
CHANGES = {
    "her registration is finished": lambda s: carry_out(s, "user:3"),
    "she has another name": lambda s: NameIndex(s).edit(User(CAROL, "carol"), "Caroline", "Me"),
    "she has another bio": lambda s: NameIndex(s).edit(User(CAROL, "carol"), "", "Me"),
    "she has a colour": lambda s: Users(s).choose(CAROL, "colour", "pink"),
    "she logs in": lambda s: Sessions(s).open(Verified(User(CAROL, "carol")), Device()),
    "she logs out everywhere": lambda s: Sessions(s).end_all(CAROL),
    "she changes her password": lambda s: Sessions(s).change_password(CAROL, make_password(None)),
    "her old password is replaced": lambda s: Sessions(s).replace_old_password(CAROL, "secret3", make_password(None)),
    "her password is hashed as prepared": lambda s: Sessions(s).add_prepared_password(CAROL, "hash", "argon2$x"),
    "she makes recovery codes": lambda s: RecoveryCodes(s).make(CAROL),
    "she gets a link for a new password": lambda s: ResetLinks(s).make(CAROL),
    "she chooses a language": lambda s: Users(s).choose(CAROL, "language", "de"),
    "she appeals": lambda s: Sanctions(s).appeal(CAROL, "It was not me."),
    "she reports someone": lambda s: Reports(s).make(CAROL, NewReport(BOB, None, "spam")),
    "she adds an app": lambda s: SecondFactors(s).add_totp(CAROL, APP, pyotp.TOTP(APP).now()),
    "she adds a passkey": lambda s: SecondFactors(s).add_passkey(CAROL, Passkey("a1", "Phone", "b2", 1), 7),
    "she shows a code": lambda s: SecondFactors(s).take_code(CAROL, Totp(APP, 1), pyotp.TOTP(APP).now()),
    "she shows a passkey": lambda s: SecondFactors(s).take_passkey(CAROL, Passkey("a1", "Phone", "b2", 1), "0a", 7),
    "she loses her second factor": lambda s: remove_factors(s, CAROL),
    "she allows an app": lambda s: Tokens(s).issue(Code(CAROL, "", "app", ("read",), OUT_OF_BAND)),
    "she posts": lambda s: Posts(s).publish(CAROL, NewPost("for @alice #tag", reply_to=1), "t"),
    "she edits": lambda s: Posts(s).edit(CAROL, 2, "for @alice #tag"),
    "she deletes a post": lambda s: Posts(s).delete(CAROL, 2),
    "she reposts": lambda s: Reposts(s).repost(CAROL, 1, BOB),
    "she reads her notices": lambda s: Inbox(s, CAROL).set_read(7),
    "she pins": lambda s: Pins(s).pin(CAROL, 2),
    "she is restored": lambda s: Acts(s).bring_back(CAROL)(),
    "she is answered": lambda s: Posts(s).publish(ALICE, NewPost("for @carol", reply_to=2), "t"),
    "she is reported": lambda s: Reports(s).make(ALICE, NewReport(CAROL, None, "spam")),
    "she is warned": lambda s: decide(s, Action.WARN),
    "her report is decided": lambda s: decide(s, Action.DISMISS),
    "she is hidden": lambda s: Sanctions(s).impose(CAROL, State.HIDDEN, "Spam."),
    "her sanction is lifted": lambda s: Sanctions(s).lift(CAROL, MODERATOR, "Sorry."),
    "her appeal is granted": lambda s: Sanctions(s).decide_appeal(CAROL, True, MODERATOR, "Sorry."),
    "she is a moderator": lambda s: Roles(s).give(CAROL, Role.MODERATOR),
    "her post is deleted by staff": lambda s: delete_by_staff(s, 2, MODERATOR, "Spam."),
}


def begin(store, raw, change):
    make_moderated_site(raw)
    if "registration" in change:
        raw.zadd(keys.outbox("user:3"), {"user:3": 2**40})
    if "appeal" in change or "lifted" in change:
        Sanctions(store).impose(CAROL, State.FROZEN, "Spam.")
    if "granted" in change:
        Sanctions(store).appeal(CAROL, "It was not me.")
    if "warned" in change:
        Reports(store).make(BOB, NewReport(CAROL, None, "spam"))
    if "her report" in change:
        Reports(store).make(CAROL, NewReport(BOB, None, "spam"))
    if "old password" in change:
        give_old_password(raw, CAROL)


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_left_of_an_account_that_is_deleted_in_the_middle(acts, store, raw, change):
    for _ in range(examples(ROUNDS)):
        for step in itertools.count():
            begin(store, raw, change)
            with before_part(step, acts.leave(CAROL)) as happened:
                attempt(lambda: CHANGES[change](store), *REFUSALS)()
            if not happened:
                break
            finish_all_but_removals(store, raw)
            assert_nothing_is_left(store, raw, step)


def assert_nothing_is_left(store, raw, where):
    left = {field for field in raw.hgetall("user:3") if not field.startswith(("answer:", "session:"))}
    assert left == {"username", "deleted"}, where
    for secret in ("secret3", *raw.hgetall("auths")):
        user = Viewer(store, secret).user
        assert not user.is_authenticated or user.uid != CAROL, where
    assert not raw.exists(f"credentials:{CAROL}"), where
    for kind in account_sets():
        assert not raw.exists(kind(CAROL)), (where, kind(CAROL))
    assert raw.zscore("users_by_time", "carol") is None, where
    assert [entry for entry in raw.zrange("users_by_name", 0, -1) if entry.endswith(":3")] == [], where
    assert raw.hget("staff", "3") is None, where
    assert raw.zrange("appeals", 0, -1) == [], where
    assert raw.keys("report:*") == [] or not any(raw.hget(key, "who") == "3" for key in raw.keys("report:*")), where
    told = {notice for key in raw.keys("notices:*") for notice in raw.zrange(key, 0, -1)}
    assert [one for one in told if one.startswith("report:")] == [], where
    for stored in [raw.hgetall(key) for key in raw.keys("post:*")]:
        assert stored.get("user_id") != "3" or ("deleted" in stored and stored["body"] == ""), where
