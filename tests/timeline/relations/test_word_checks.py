"""`doctor` finds members of `muted_words:` that name no words, and `cleanup` those that have ended."""

from tests.support.maintenance.findings import findings_of
from tests.support.people import LONG_AGO
from timeline.relations.muted_words import WordChecks


def run(store, checks):
    """What the checks find, after its repair."""
    found = findings_of(store, checks)
    for finding in found:
        finding.repair()
    return [finding.what for finding in found]


def test_what_names_no_words_is_removed(store, raw, alice):
    raw.zadd("muted_words:1", {"home hide !": "+inf", "home hide rain": "+inf"})
    assert run(store, WordChecks(store).inconsistencies()) == ["muted_words:1 has 'home hide !'"]
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide rain"]


def test_what_has_ended_is_removed_and_nothing_else(store, raw, alice):
    raw.zadd("muted_words:1", {"home hide snow": LONG_AGO, "home hide rain": "+inf"})
    assert run(store, WordChecks(store).orphans()) == ["muted_words:1 has ended words"]
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide rain"]


def test_words_that_are_muted_again_meanwhile_stay(store, raw, alice):
    raw.zadd("muted_words:1", {"home hide snow": LONG_AGO})
    [finding] = findings_of(store, WordChecks(store).orphans())
    raw.zadd("muted_words:1", {"home hide snow": "+inf"})
    finding.repair()
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide snow"]
