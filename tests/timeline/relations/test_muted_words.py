"""Muted words are edges to texts: one command says what a user mutes now, and they go with the account. What `doctor`
and `cleanup` find of them, and their page."""

import time

import pytest

from retwis_site.store.client import answer
from tests.support.command_output import findings_of
from tests.support.people import LONG_AGO
from tests.support.removed_accounts import delete_and_remove
from timeline.relations.muted_words import (
    LONGEST_MUTED,
    MOST_MUTED,
    How,
    MutedWord,
    MutedWords,
    Where,
    WordChecks,
    ask_muted_words,
)
from timeline.relations.relations import FOREVER, in_days

ALICE = 1
FINALE = MutedWord("the Finale", Where.HOME, How.FOLD, FOREVER)


def present(store):
    return answer(store, ask_muted_words, ALICE)


def test_words_are_muted_with_an_end_or_without_and_unmuted(store, raw, alice):
    week = MutedWord("rain", Where.EVERYWHERE, How.HIDE, in_days(7))
    for new in (FINALE, week):
        MutedWords(store).mute(ALICE, new, present(store))
    assert raw.zrange("muted_words:1", 0, -1, withscores=True) == [
        ("everywhere hide rain", week.until),
        ("home fold the Finale", FOREVER),
    ]
    assert present(store) == (FINALE, week)
    MutedWords(store).unmute(ALICE, FINALE)
    assert present(store) == (week,)
    assert raw.zcard("outbox") == 0


def test_the_same_words_replace_those_that_were_muted_before(store, raw, alice):
    MutedWords(store).mute(ALICE, FINALE, present(store))
    MutedWords(store).mute(ALICE, FINALE._replace(words="THE finalé", how=How.HIDE), present(store))
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide THE finalé"]


def test_a_mute_that_has_ended_does_not_stand(store, raw, alice):
    raw.zadd("muted_words:1", {"home hide rain": int(time.time()) - 1})
    assert present(store) == ()


@pytest.mark.parametrize(
    "member", ["rain", "home hide", "home hide !", "there hide rain", "home show rain", "home hide " + "x" * 101]
)
def test_what_is_no_such_member_is_skipped(store, raw, alice, member):
    raw.zadd("muted_words:1", {member: "+inf"})
    assert present(store) == ()


def test_no_more_than_a_hundred_are_read_and_the_longest_fit(store, raw, alice):
    raw.zadd("muted_words:1", {f"home hide word{number}": "+inf" for number in range(MOST_MUTED + 1)})
    assert len(present(store)) == MOST_MUTED
    raw.delete("muted_words:1")
    raw.zadd("muted_words:1", {f"home hide {'x' * LONGEST_MUTED}": "+inf"})
    assert len(present(store)) == 1


def test_one_command_reads_them(store, alice, round_trips):
    [round_trip] = round_trips(lambda: present(store)).round_trips
    assert len(round_trip.commands) == 1


def test_they_go_with_the_account(store, raw, alice):
    MutedWords(store).mute(ALICE, FINALE, ())
    delete_and_remove(store, alice)
    assert not raw.exists("muted_words:1")


# ---- `doctor` finds members of `muted_words:` that name no words, and `cleanup` those that have ended.


def run(store, checks):
    """What the checks find, after its repair."""
    found = findings_of(store, checks)
    for finding in found:
        finding.repair()
    return [finding.what for finding in found]


@pytest.mark.parametrize(
    ("member", "score", "checks", "found"),
    [
        ("home hide !", "+inf", "inconsistencies", "muted_words:1 has 'home hide !'"),
        ("home hide snow", LONG_AGO, "orphans", "muted_words:1 has ended words"),
    ],
    ids=["it names no words", "it has ended"],
)
def test_what_mutes_nothing_is_removed_and_nothing_else(store, raw, alice, member, score, checks, found):
    raw.zadd("muted_words:1", {member: score, "home hide rain": "+inf"})
    assert run(store, getattr(WordChecks(store), checks)()) == [found]
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide rain"]


def test_words_that_are_muted_again_meanwhile_stay(store, raw, alice):
    raw.zadd("muted_words:1", {"home hide snow": LONG_AGO})
    [finding] = findings_of(store, WordChecks(store).orphans())
    raw.zadd("muted_words:1", {"home hide snow": "+inf"})
    finding.repair()
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide snow"]
