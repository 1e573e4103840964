"""The exact number of round trips and commands of each page. A change of a number is a change of the design."""

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import write_posts, write_tag
from timeline.relations.follow import Follows
from timeline.search.index.writing import Indexing

pytestmark = pytest.mark.usefixtures("clock")

# (path, reader): (round trips, commands) with warm caches, and the same with empty caches.
COSTS = {
    ("/", "alice"): ((2, 27), (7, 57)),  # cold, it also looks for people to follow
    ("/?before=121", "alice"): ((2, 27), (4, 50)),
    ("/@Alice/", "alice"): ((2, 47), (4, 50)),
    ("/@bob/", "alice"): ((1, 26), (6, 65)),
    ("/@bob/", "a visitor"): ((1, 6), (3, 38)),
    ("/timeline/", "alice"): ((2, 29), (4, 66)),
    ("/timeline/", "a visitor"): ((1, 2), (3, 55)),
    ("/", "a visitor"): ((1, 2), (3, 25)),
    ("/@bob/replies/", "alice"): ((1, 26), (6, 55)),
    ("/@bob/2/quotes/", "a visitor"): ((1, 5), (2, 6)),
    ("/@bob/2/", "alice"): ((1, 21), (4, 24)),
    ("/@bob/2/", "a visitor"): ((1, 6), (3, 8)),
    ("/@Alice/followers/", "alice"): ((2, 12), (4, 14)),
    ("/@bob/following/", "a visitor"): ((2, 7), (3, 8)),
    ("/@Alice/followers/?show=mutual", "alice"): ((3, 13), (5, 15)),
    ("/@bob/following/?show=not-followed-back", "alice"): ((2, 10), (4, 12)),
    ("/@bob/followers/", "alice"): ((2, 16), (4, 19)),
    ("/people/", "alice"): ((2, 14), (4, 16)),
    ("/people/", "a visitor"): ((2, 7), (3, 8)),
    ("/people/?by=followers", "alice"): ((2, 14), (4, 16)),
    ("/people/?q=bo", "alice"): ((2, 12), (3, 13)),
    ("/people/?q=@BOB", "a visitor"): ((2, 5), (2, 5)),
    ("/people/?q=nobody", "a visitor"): ((1, 3), (1, 3)),
    ("/search/", "a visitor"): ((0, 0), (0, 0)),
    ("/search/?q=post", "alice"): ((5, 29), (8, 50)),
    ("/search/?q=post", "a visitor"): ((4, 10), (7, 39)),
    ("/search/?q=post+7", "a visitor"): ((3, 12), (6, 16)),
    ("/search/?q=from:bob+-is:reply&in=following", "alice"): ((5, 19), (9, 107)),
    ("/search/?q=post&before=100", "alice"): ((3, 25), (6, 46)),
    ("/@bob/atom/", "alice"): ((1, 6), (3, 38)),
    ("/@bob/rss/", "a visitor"): ((1, 6), (3, 38)),
    ("/timeline/atom/", "alice"): ((1, 2), (3, 55)),
    ("/timeline/rss/", "a visitor"): ((1, 2), (3, 55)),
    ("/tags/redis/", "alice"): ((2, 20), (4, 37)),
    ("/tags/redis/", "a visitor"): ((1, 2), (3, 25)),
    ("/tags/", "alice"): ((3, 21), (5, 38)),
    ("/tags/", "a visitor"): ((0, 0), (0, 0)),
    ("/tags/redis/atom/", "a visitor"): ((1, 2), (3, 25)),
    ("/explore/", "alice"): ((4, 18), (8, 206)),  # cold, it looks for what many people like
    ("/explore/", "a visitor"): ((0, 0), (5, 195)),
    ("/complete/?q=@bo", "alice"): ((4, 17), (5, 18)),
    ("/complete/?q=%23re", "alice"): ((4, 12), (5, 13)),
    ("/robots.txt", "alice"): ((0, 0), (0, 0)),
    ("/sitemap.xml", "alice"): ((1, 1), (1, 1)),
    ("/sitemap-pages.xml", "alice"): ((0, 0), (0, 0)),
    ("/sitemap-people.xml", "alice"): ((2, 2), (2, 2)),
    ("/settings/", "alice"): ((1, 5), (2, 6)),
    ("/settings/delete/", "alice"): ((1, 4), (2, 5)),
    ("/login/", "a visitor"): ((0, 0), (0, 0)),
    ("/register/", "a visitor"): ((0, 0), (0, 0)),
}


@pytest.fixture
def readers(browser, raw, store, alice, bob, carol):
    """alice and bob follow the other two, carol follows bob; they write in turns, sixty posts each. All
    follows are old."""
    for follower, followed in ((1, 2), (1, 3), (2, 1), (2, 3), (3, 2)):
        Follows(store).follow(follower, followed)
        raw.zadd(f"following:{follower}", {followed: 1})  # long ago
    for number in range(180):
        write_posts(raw, number % 3 + 1, [number + 1])
    Indexing(store).index(range(1, 181))
    for tag in ("redis", "django"):
        write_tag(raw, tag, range(1, 181))
        raw.zadd("tags_of:1", {tag: 1})
    return {"alice": browser(alice), "a visitor": browser()}


def cost(client, url, round_trips):
    recorded = round_trips(lambda: client.get(url))
    return len(recorded.round_trips), len(recorded.commands)


@pytest.mark.parametrize(("url", "reader"), COSTS)
def test_a_page_costs_what_the_table_says(readers, round_trips, url, reader):
    client = readers[reader]
    assert client.get(url).status_code == 200  # it rebuilds what is missing
    Memory.clear_all()
    cold = cost(client, url, round_trips)
    client.get(url)  # it caches what the first request found out about authors
    warm = cost(client, url, round_trips)
    assert (warm, cold) == COSTS[url, reader]
