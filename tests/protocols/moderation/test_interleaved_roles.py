"""Roles and the site's words are changed by several people at once, with and without kills: an admin is left, pages
read the role that `staff` has, and each change is in the log."""

import itertools

import pytest

from accounts.community.refusals import Refused
from accounts.community.roles import Roles
from accounts.community.site.words import SiteWords
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import NoSuchUser, Role, User
from retwis_site.jobs.worker import drain
from tests.support.protocols.community import (
    MODERATOR,
    OTHER,
    acts_in_log,
    assert_community_agrees,
    finish_all_but_removals,
    reasons_in_log,
)
from tests.support.protocols.interleaving import attempt, interleave, take_all_over
from tests.support.protocols.small_site import ALICE, BOB, CAROL, finish_jobs, make_small_site
from tests.support.protocols.thoroughness import examples

RUNS = 10  # seeds for each scenario


class Changing:
    """Changes of roles. `done`: the reasons of those that ended without an error."""

    def __init__(self, store):
        self.store = store
        self.done = set()
        self._numbers = itertools.count()

    def give(self, uid, role, by=0):
        reason = f"change {next(self._numbers)}"

        def work():
            Roles(self.store).give(uid, role, by, reason)
            self.done.add(reason)

        return attempt(work, Refused, NoSuchUser)

    def leave(self):
        AccountDeletion(self.store).delete(User(CAROL, "carol"), "secret3")
        drain(self.store, "worker")

    def worker(self):
        take_all_over(self.store)


ROLES = {
    "two admins take each other's role": lambda c: [c.give(ALICE, Role.MEMBER, BOB), c.give(BOB, Role.MEMBER, ALICE)],
    "two admins give theirs up, a worker": lambda c: [
        c.give(ALICE, Role.MEMBER, ALICE),
        c.give(BOB, Role.MODERATOR, BOB),
        c.worker,
    ],
    "one is made an admin and a member": lambda c: [c.give(CAROL, Role.ADMIN, ALICE), c.give(CAROL, Role.MEMBER, BOB)],
    "one is changed three times": lambda c: [
        c.give(CAROL, Role.MODERATOR, ALICE),
        c.give(CAROL, Role.ADMIN, ALICE),
        c.give(CAROL, Role.MEMBER, BOB),
        c.worker,
    ],
    "a new moderator deletes the account": lambda c: [c.give(CAROL, Role.MODERATOR, ALICE), c.leave],
    "a new admin beside one who goes": lambda c: [
        c.give(CAROL, Role.ADMIN, ALICE),
        c.give(ALICE, Role.MEMBER, BOB),
        c.give(BOB, Role.MEMBER, ALICE),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", ROLES)
def test_an_admin_is_left_and_pages_read_the_role_in_staff(store, raw, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        changing = Changing(store)
        for uid in (ALICE, BOB):
            changing.give(uid, Role.ADMIN)()
        interleave(seed, kills, ROLES[scenario](changing))
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, seed)
        assert Role.ADMIN in raw.hvals("staff"), seed
        if not raw.hexists("user:3", "deleted"):
            assert changing.done <= reasons_in_log(raw), seed


SET_WORDS = ("HSET", "site")


def change_words(store, by, **fields):
    return lambda: SiteWords(store).change(fields, by)


WORDS = {
    "two set one word": lambda s: [
        change_words(s, MODERATOR, name="One"),
        change_words(s, OTHER, name="Two", tagline="of two"),
    ],
    "one sets, one empties": lambda s: [change_words(s, MODERATOR, name="One"), change_words(s, OTHER, name="")],
    "one sets, one empties, a worker": lambda s: [
        change_words(s, MODERATOR, name="One", about="Us"),
        change_words(s, OTHER, name="", about=""),
        lambda: take_all_over(s),
    ],
}


def last_words(commands, done):
    """The words that were written last, by the changes that are in the log. `done`: the fields with their lines."""
    written = [dict(zip(command[2::2], command[3::2], strict=True)) for command in commands if command[:2] == SET_WORDS]
    words = {name: text for fields in written if fields.keys() & done for name, text in fields.items()}
    return {name: text for name, text in words.items() if not name.startswith("act:")}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", WORDS)
def test_each_change_of_the_sites_words_is_in_the_log_and_the_last_one_stands(store, raw, sent, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        raw.hset("site", "name", "Old")
        before = len(sent.commands)
        interleave(seed, kills, WORDS[scenario](store))
        commands = sent.commands[before:]
        finish_jobs(store, raw)
        stored, done = raw.hgetall("site"), {f"act:{act['id']}" for act in acts_in_log(raw)}
        assert [field for field in stored if field.startswith("act:")] == [], seed
        if not kills and "worker" not in scenario:
            assert len(done) == 2, seed
        last = {"name": "Old"} | last_words(commands, done)
        assert {name: stored.get(name, "") for name in last} == last, seed
