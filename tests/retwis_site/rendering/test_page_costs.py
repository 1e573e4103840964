"""What each page costs, to the last command and template: a change that makes one dearer, or cheaper, is seen here."""

import pytest
from django.test.signals import template_rendered

from retwis_site.store import local_cache
from retwis_site.store.local_cache import Memory
from tests.support.clock import Clock
from tests.support.stored_posts import write_posts
from timeline.relations.follow import Follows

# Each as (round trips, commands, templates). Which page, and who reads it: for the second time; for the first, in a
# process that remembers nothing; for the second with PAGE_MEMORY=0.
COSTS = {
    ("/", "alice"): ((2, 13, 0), (5, 32, 95), (3, 30, 95)),
    ("/?before=121", "alice"): ((2, 13, 0), (5, 32, 96), (3, 30, 96)),
    ("/@Alice/", "alice"): ((2, 28, 0), (4, 31, 90), (2, 28, 90)),
    ("/@bob/", "alice"): ((1, 12, 0), (6, 41, 92), (4, 38, 92)),
    ("/@bob/", "a visitor"): ((1, 6, 0), (3, 28, 89), (2, 26, 89)),
    ("/timeline/", "alice"): ((2, 20, 0), (4, 58, 206), (3, 57, 206)),
    ("/timeline/", "a visitor"): ((1, 2, 0), (3, 55, 205), (3, 55, 205)),
    ("/", "a visitor"): ((1, 2, 0), (3, 25, 85), (3, 25, 85)),
    ("/@bob/2/", "alice"): ((1, 6, 5), (3, 8, 9), (1, 6, 9)),
    ("/@bob/2/", "a visitor"): ((1, 4, 4), (2, 5, 8), (1, 4, 8)),
    ("/@Alice/followers/", "alice"): ((1, 5, 8), (4, 8, 8), (2, 6, 8)),
    ("/@bob/following/", "a visitor"): ((1, 3, 9), (3, 6, 9), (2, 5, 9)),
    ("/@Alice/followers/?show=mutual", "alice"): ((2, 6, 8), (5, 9, 8), (3, 7, 8)),
    ("/@bob/following/?show=not-followed-back", "alice"): ((2, 6, 6), (4, 8, 6), (2, 6, 6)),
    ("/@bob/followers/", "alice"): ((1, 5, 10), (4, 10, 10), (2, 8, 10)),
    ("/people/", "alice"): ((2, 10, 0), (4, 12, 18), (2, 10, 18)),
    ("/people/", "a visitor"): ((2, 7, 0), (3, 8, 15), (2, 7, 15)),
    ("/people/?by=followers", "alice"): ((2, 10, 0), (4, 12, 18), (2, 10, 18)),
    ("/people/?q=bo", "alice"): ((2, 8, 0), (3, 9, 8), (2, 8, 8)),
    ("/people/?q=@BOB", "a visitor"): ((2, 5, 0), (2, 5, 6), (2, 5, 6)),
    ("/people/?q=nobody", "a visitor"): ((1, 3, 0), (1, 3, 3), (1, 3, 3)),
    ("/@bob/atom/", "alice"): ((1, 6, 0), (3, 28, 40), (2, 26, 40)),
    ("/@bob/rss/", "a visitor"): ((1, 6, 0), (3, 28, 40), (2, 26, 40)),
    ("/timeline/atom/", "alice"): ((1, 2, 0), (3, 55, 100), (3, 55, 100)),
    ("/timeline/rss/", "a visitor"): ((1, 2, 0), (3, 55, 100), (3, 55, 100)),
    ("/robots.txt", "alice"): ((0, 0, 1), (0, 0, 1), (0, 0, 1)),
    ("/sitemap.xml", "alice"): ((1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ("/sitemap-pages.xml", "alice"): ((0, 0, 1), (0, 0, 1), (0, 0, 1)),
    ("/sitemap-people.xml", "alice"): ((2, 2, 1), (2, 2, 1), (2, 2, 1)),
    ("/settings/", "alice"): ((1, 3, 15), (2, 4, 15), (1, 3, 15)),
    ("/settings/delete/", "alice"): ((1, 2, 12), (2, 3, 12), (1, 2, 12)),
    ("/login/", "a visitor"): ((0, 0, 16), (0, 0, 16), (0, 0, 16)),
    ("/register/", "a visitor"): ((0, 0, 22), (0, 0, 22), (0, 0, 22)),
}


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Nothing that is remembered grows old while a slow machine thinks."""
    monkeypatch.setattr(local_cache, "time", Clock())


@pytest.fixture
def readers(browser, raw, store, alice, bob, carol):
    """alice and bob follow the other two, carol follows bob; they write in turns, sixty posts each."""
    for follower, followed in ((1, 2), (1, 3), (2, 1), (2, 3), (3, 2)):
        Follows(store).follow(follower, followed)
    for number in range(180):
        write_posts(raw, number % 3 + 1, [number + 1])
    return {"alice": browser(alice), "a visitor": browser()}


def cost(client, url, round_trips):
    rendered = []

    def note(**told):
        rendered.append(told["template"])

    template_rendered.connect(note)
    try:
        recorded = round_trips(lambda: client.get(url))
    finally:
        template_rendered.disconnect(note)
    return len(recorded.round_trips), len(recorded.commands), len(rendered)


@pytest.mark.parametrize(("url", "who"), COSTS)
def test_a_page_costs_what_the_table_says(settings, readers, round_trips, url, who):
    client = readers[who]
    assert client.get(url).status_code == 200  # what must be rebuilt is
    Memory.clear_all()
    cold = cost(client, url, round_trips)
    client.get(url)  # whose authors were asked about is known from now on
    warm = cost(client, url, round_trips)
    settings.PAGE_MEMORY = False
    Memory.clear_all()
    client.get(url)
    without = cost(client, url, round_trips)
    assert (warm, cold, without) == COSTS[url, who]
