"""Ages keep growing on a page that stays open, in the words that the server uses."""

import time

import pytest
from playwright.sync_api import expect

from tests.support.stored_keys import publish

MINUTE, HOUR = 60_000, 3_600_000  # milliseconds


@pytest.fixture
def written(store, raw, alice):
    return publish(raw, store, alice, "Getting older")


def age_on(page):
    return page.get_by_role("article").first.locator("time").first


def opened(page, address):
    page.clock.install()
    page.goto(address)
    return page


def pass_time(page, milliseconds):
    """The script looks once a minute."""
    page.clock.fast_forward(milliseconds)
    page.clock.run_for(MINUTE + 1000)


@pytest.mark.parametrize(
    ("language", "short", "long"),
    [
        ("en", ["4 min", "2 h"], ["posted 4 minutes ago via web", "posted 2 hours ago via web"]),
        ("de", None, None),
        ("ar", None, None),
    ],
)
def test_ages_grow_in_the_words_of_the_server(window, raw, alice, written, site, language, short, long):
    page = window(alice)
    page.context.add_cookies([{"name": "language", "value": language, "url": site.browser.origin}])
    opened(page, "/timeline/")
    pass_time(page, 3 * MINUTE)
    seen = [(age_on(page).text_content(), age_on(page).get_attribute("title").split(" · ")[0])]
    pass_time(page, 2 * HOUR)
    seen.append((age_on(page).text_content(), age_on(page).get_attribute("title").split(" · ")[0]))
    if short is not None:
        assert seen == list(zip(short, long, strict=True))
    for (words, title), seconds in zip(seen, (250, 7500), strict=True):
        raw.hset(f"post:{written}", "time", int(time.time()) - seconds)
        other = window(alice)
        other.context.add_cookies([{"name": "language", "value": language, "url": site.browser.origin}])
        other.goto(f"/@{alice.user.username}/")
        expect(age_on(other)).to_have_text(words)
        assert age_on(other).get_attribute("title").split(" · ")[0] == title


def test_after_a_day_a_card_has_the_date(window, alice, written):
    page = opened(window(alice), "/timeline/")
    day = page.evaluate("() => document.querySelector('.post time').dateTime.slice(8, 10).replace(/^0/, '')")
    pass_time(page, 25 * HOUR)
    assert age_on(page).text_content().split()[0] == day


def test_the_page_of_a_post_has_the_long_words(window, alice, written):
    page = opened(window(alice), f"/@{alice.user.username}/{written}/")
    pass_time(page, 3 * MINUTE)
    expect(age_on(page)).to_have_text("posted 4 minutes ago via web")
