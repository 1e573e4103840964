"""Moments as other Retwises wrote them."""

import pytest

from timeline.other_retwises.dates import seconds_of, unix_seconds

NOON = 1244890800  # 13 June 2009, 11:00 UTC


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (str(NOON), NOON),
        (f"{NOON}.987", NOON),
        ("1.2448908e9", NOON),
        ("1.2448908E+12", NOON),
        (f"{NOON * 1000 + 999}", NOON),
        ("2009-06-13 12:00:00 +0100", NOON),
        ("2009-06-13 06:00:00 -0500", NOON),
        ("2009-06-13 11:00:00 UTC", NOON),
        ("2009-06-13T11:00:00Z", NOON),
        ("2009-06-13T12:00:00+01:00", NOON),
        ("2009-06-13 11:00:00", NOON),
        ("Sat Jun 13 12:00:00 +0100 2009", NOON),
        ("Sat Jun 13 11:00:00 UTC 2009", NOON),
        (" Sat Jun  6 11:00:00 UTC 2009\n", NOON - 7 * 86400),
        ("0", 0),
    ],
)
def test_each_form_is_read(text, seconds):
    assert unix_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", [None, "", "soon", "-5", "Sat Xyz 13 11:00:00 UTC 2009", "2009-13-45", "1" * 40, "9" * 16, "1e99", "٣"]
)
def test_anything_else_is_no_time(text):
    assert unix_seconds(text) is None


@pytest.mark.parametrize("score", [None, float("inf"), float("-inf"), -1.0])
def test_a_score_that_is_no_time(score):
    assert seconds_of(score) is None


def test_scores_have_seconds_or_milliseconds():
    assert seconds_of(NOON + 0.75) == seconds_of(NOON * 1000.0) == NOON
