"""The words with which the script lets ages grow are those of the server."""

import html
import json
import time

import pytest

from timeline.posts.html.post_cards import age, phrases

NOW = 1_790_000_000
CATEGORIES = {"en": {1: "one"}, "de": {1: "one"}, "ar": {1: "one", 2: "two", 3: "few", 10: "few", 11: "many"}}


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize(("unit", "seconds"), [("minute", 60), ("hour", 3600), ("day", 86400)])
@pytest.mark.parametrize("number", [1, 2, 3, 10, 11, 20])
def test_each_age_is_that_of_the_server(language, unit, seconds, number):
    found = json.loads(html.unescape(phrases(language)))
    says = found[unit].get(CATEGORIES[language].get(number, "other"), found[unit]["other"])
    if language == "ar" and number == 20:
        says = found[unit].get("many", found[unit]["other"])  # 11 to 99
    words = says.replace("#", str(number)).split("|")
    shown = age(NOW - number * seconds, NOW, language)
    assert words == [html.unescape(text) for text in (shown.words, shown.short)[: len(words)]]
    assert len(words) == (1 if unit == "day" else 2)


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_after_a_day_it_is_the_servers_date(language):
    months = json.loads(html.unescape(phrases(language)))["months"].split("|")
    for number in range(3):
        written = NOW - (30 * number + 2) * 86400
        shown = html.unescape(age(written, NOW, language).short)
        day = time.gmtime(written)
        assert months[day.tm_mon - 1].replace("#", str(day.tm_mday)) == shown
