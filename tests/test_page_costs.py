"""What each page costs, to the last command and template: a change that makes one dearer, or cheaper, is seen here."""

import pytest
from django.test.signals import template_rendered

from retwis_site import memory
from retwis_site.memory import Memory
from tests.agreement import Clock
from tests.test_home_timeline import write_posts
from timeline.repositories.follows import Follows

# Each as (round trips, commands, templates). Which page, and who reads it: for the second time; for the first, in a
# process that remembers nothing; for the second with PAGE_MEMORY=0.
COSTS = {
    ("/", "alice"): ((2, 13, 0), (5, 32, 54), (3, 30, 54)),
    ("/?before=121", "alice"): ((2, 13, 0), (5, 32, 55), (3, 30, 55)),
    ("/@Alice/", "alice"): ((2, 27, 0), (4, 29, 47), (2, 27, 47)),
    ("/@bob/", "alice"): ((1, 10, 0), (5, 36, 48), (3, 34, 48)),
    ("/@bob/", "a visitor"): ((1, 5, 0), (3, 26, 46), (2, 25, 46)),
    ("/timeline/", "alice"): ((2, 20, 0), (4, 58, 106), (3, 57, 106)),
    ("/timeline/", "a visitor"): ((1, 2, 0), (3, 55, 105), (3, 55, 105)),
    ("/", "a visitor"): ((1, 2, 0), (3, 25, 45), (3, 25, 45)),
    ("/@bob/2/", "alice"): ((1, 6, 4), (3, 8, 6), (1, 6, 6)),
    ("/@bob/2/", "a visitor"): ((1, 4, 3), (2, 5, 5), (1, 4, 5)),
    ("/@Alice/followers/", "alice"): ((1, 5, 6), (4, 8, 6), (2, 6, 6)),
    ("/@bob/following/", "a visitor"): ((1, 3, 6), (3, 6, 6), (2, 5, 6)),
    ("/settings/delete/", "alice"): ((1, 2, 11), (2, 3, 11), (1, 2, 11)),
    ("/login/", "a visitor"): ((0, 0, 16), (0, 0, 16), (0, 0, 16)),
    ("/register/", "a visitor"): ((0, 0, 22), (0, 0, 22), (0, 0, 22)),
}


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Nothing that is remembered grows old while a slow machine thinks."""
    monkeypatch.setattr(memory, "time", Clock())


@pytest.fixture
def readers(browser, raw, store, alice, bob, carol):
    """alice and bob follow the other two, carol follows bob; they write in turns, sixty posts each."""
    for follower, followed in ((1, 2), (1, 3), (2, 1), (2, 3), (3, 2)):
        Follows(store).follow(follower, followed)
    for number in range(180):
        write_posts(raw, number % 3 + 1, [number + 1])
    return {"alice": browser(alice), "a visitor": browser()}


def cost(client, url, trips):
    rendered = []

    def note(**told):
        rendered.append(told["template"])

    template_rendered.connect(note)
    try:
        watch = trips(lambda: client.get(url))
    finally:
        template_rendered.disconnect(note)
    return len(watch.trips), len(watch.commands), len(rendered)


@pytest.mark.parametrize(("url", "who"), COSTS)
def test_a_page_costs_what_the_table_says(settings, readers, trips, url, who):
    client = readers[who]
    assert client.get(url).status_code == 200  # what must be rebuilt is
    Memory.clear_all()
    cold = cost(client, url, trips)
    client.get(url)  # whose authors were asked about is known from now on
    warm = cost(client, url, trips)
    settings.PAGE_MEMORY = False
    Memory.clear_all()
    client.get(url)
    without = cost(client, url, trips)
    assert (warm, cold, without) == COSTS[url, who]
