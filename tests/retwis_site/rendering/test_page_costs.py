"""The exact number of round trips and commands of each page. A change of a number is a change of the design."""

from datetime import UTC, datetime

import pytest

from accounts.community import log
from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Applications
from accounts.users.entities import Role, State
from retwis_site.store.local_cache import Memory
from tests.support.people import register
from tests.support.stored_posts import write_posts, write_tag
from timeline.relations.relations import Follows
from timeline.search.index import Indexing

pytestmark = pytest.mark.usefixtures("clock")

# (path, reader): (round trips, commands) with warm caches, and the same with empty caches.
COSTS = {
    ("/", "alice"): ((1, 29), (7, 62)),  # cold, it also looks for people to follow
    ("/?before=121", "alice"): ((2, 29), (4, 50)),
    ("/@Alice/", "alice"): ((1, 43), (4, 56)),
    ("/@bob/", "alice"): ((1, 33), (5, 76)),
    ("/@bob/", "a visitor"): ((1, 10), (3, 43)),
    ("/timeline/", "alice"): ((2, 20), (4, 42)),
    ("/timeline/", "a visitor"): ((0, 0), (3, 30)),  # kept for a second
    ("/timeline/?of=all", "a visitor"): ((1, 2), (3, 30)),  # not kept
    ("/", "a visitor"): ((0, 0), (3, 30)),
    ("/?of=all", "a visitor"): ((1, 2), (3, 30)),
    ("/@bob/replies/", "alice"): ((1, 33), (5, 76)),
    ("/@bob/2/quotes/", "a visitor"): ((1, 5), (2, 7)),
    ("/@bob/2/history/", "a visitor"): ((1, 5), (3, 9)),
    ("/@bob/2/", "alice"): ((1, 28), (4, 32)),
    ("/@bob/2/", "a visitor"): ((1, 12), (3, 15)),
    ("/@bob/2/more/", "alice"): ((1, 16), (3, 19)),
    ("/@bob/2/more/", "a visitor"): ((1, 5), (2, 7)),
    ("/@bob/2/repost-or-quote/", "alice"): ((1, 11), (3, 14)),
    ("/@bob/more/", "alice"): ((1, 11), (3, 14)),
    ("/@bob/more/", "a visitor"): ((1, 2), (2, 4)),
    ("/@Alice/followers/", "alice"): ((2, 14), (4, 17)),
    ("/@bob/following/", "a visitor"): ((2, 9), (3, 11)),
    ("/@Alice/followers/?show=mutual", "alice"): ((3, 15), (5, 18)),
    ("/@bob/following/?show=not-followed-back", "alice"): ((2, 10), (4, 13)),
    ("/@bob/followers/", "alice"): ((2, 20), (4, 23)),
    ("/people/", "alice"): ((2, 18), (4, 21)),
    ("/people/", "a visitor"): ((2, 10), (3, 12)),
    ("/people/?by=followers", "alice"): ((2, 18), (4, 21)),
    ("/people/?q=bo", "alice"): ((2, 14), (3, 16)),
    ("/people/?q=@BOB", "a visitor"): ((2, 6), (2, 7)),
    ("/people/?q=nobody", "a visitor"): ((1, 3), (1, 4)),
    ("/search/", "a visitor"): ((0, 0), (1, 1)),
    ("/search/?q=post", "alice"): ((3, 30), (6, 52)),
    ("/search/?q=post", "a visitor"): ((2, 10), (5, 40)),
    ("/search/?q=post+7", "a visitor"): ((2, 12), (5, 17)),
    ("/search/?q=from:bob+-is:reply&in=following", "alice"): ((4, 20), (8, 109)),
    ("/search/?q=post&before=100", "alice"): ((3, 26), (6, 48)),
    ("/@bob/atom/", "alice"): ((1, 10), (3, 43)),
    ("/@bob/rss/", "a visitor"): ((1, 10), (3, 43)),
    ("/timeline/atom/", "alice"): ((1, 2), (3, 60)),
    ("/timeline/rss/", "a visitor"): ((1, 2), (3, 60)),
    ("/tags/redis/", "alice"): ((2, 22), (4, 40)),
    ("/tags/redis/", "a visitor"): ((1, 2), (3, 26)),
    ("/tags/", "alice"): ((3, 23), (5, 41)),
    ("/tags/", "a visitor"): ((0, 0), (1, 1)),
    ("/tags/redis/atom/", "a visitor"): ((1, 2), (3, 26)),
    ("/explore/", "alice"): ((4, 24), (9, 216)),  # cold, it looks for what many people like
    ("/explore/", "a visitor"): ((0, 0), (7, 202)),
    ("/complete/?q=@bo", "alice"): ((4, 19), (5, 21)),
    ("/complete/?q=%23re", "alice"): ((4, 13), (5, 15)),
    ("/robots.txt", "alice"): ((0, 0), (0, 0)),
    ("/sitemap.xml", "alice"): ((1, 1), (1, 1)),
    ("/sitemap-pages.xml", "alice"): ((0, 0), (0, 0)),
    ("/sitemap-people.xml", "alice"): ((2, 2), (4, 6)),
    ("/settings/", "alice"): ((1, 5), (2, 7)),
    ("/settings/words/", "alice"): ((2, 5), (3, 7)),
    ("/settings/invites/", "alice"): ((3, 7), (4, 9)),
    ("/settings/delete/", "alice"): ((1, 5), (2, 7)),
    ("/about/", "a visitor"): ((0, 0), (1, 1)),
    ("/rules/", "a visitor"): ((0, 0), (1, 1)),
    ("/privacy/", "a visitor"): ((0, 0), (1, 1)),
    ("/book/", "a visitor"): ((0, 0), (1, 1)),
    ("/book/keys-and-hashes/", "alice"): ((1, 4), (2, 6)),
    ("/book/keys-and-hashes/", "a visitor"): ((0, 0), (1, 1)),
    ("/book/keys-and-hashes.svg", "a visitor"): ((0, 0), (0, 0)),
    ("/login/", "a visitor"): ((0, 0), (1, 1)),
    ("/register/", "a visitor"): ((0, 0), (1, 1)),
}
COSTS_OF_THE_INSPECTOR = {
    ("/inspect/updates:1", "a visitor"): ((4, 56), (6, 58)),
    ("/inspect/user:1", "alice"): ((4, 10), (6, 13)),
}
# A proxy passes no MEMORY and no OBJECT on, so the servers behind it are asked.
COSTS_BEHIND_A_PROXY = {
    ("/inspect/updates:1", "a visitor"): ((6, 60), (8, 62)),
    ("/inspect/user:1", "alice"): ((6, 14), (8, 17)),
}


# The same where staff has something to do, and something is imposed on alice and carol.
COSTS_OF_STAFF = {
    ("/", "a moderator"): ((3, 41), (5, 43)),  # an empty home, which looks for people to follow
    ("/moderation/", "a moderator"): ((7, 16), (9, 18)),
    ("/moderation/?before=9", "a moderator"): ((4, 13), (6, 15)),
    ("/moderation/?appealed_before=9999999999", "a moderator"): ((4, 11), (6, 13)),
    ("/moderation/reports/7/", "a moderator"): ((10, 17), (12, 19)),
    ("/moderation/people/", "a moderator"): ((1, 8), (3, 10)),
    ("/moderation/people/?q=bo", "a moderator"): ((4, 15), (6, 17)),
    ("/moderation/people/bob/", "a moderator"): ((14, 40), (16, 42)),
    ("/moderation/people/bob/2/", "a moderator"): ((6, 18), (9, 21)),
    ("/moderation/new/", "a moderator"): ((5, 30), (7, 32)),
    ("/@bob/2/more/", "a moderator"): ((3, 22), (6, 25)),
    ("/moderation/joining/", "a moderator"): ((5, 16), (8, 19)),
    ("/moderation/site/", "an admin"): ((2, 9), (4, 11)),
    ("/moderation/log/", "a moderator"): ((3, 13), (5, 15)),
    ("/@bob/report/", "alice"): ((2, 6), (4, 9)),
    ("/@bob/2/report/", "alice"): ((2, 10), (4, 13)),
    ("/@bob/reported/", "alice"): ((2, 10), (4, 13)),
    ("/appeal/", "alice"): ((2, 5), (3, 7)),
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
    for code in ("1-4000000000-abc", "1-4000000000-def"):
        raw.hset("invites:1", code, 1)
    return {"alice": browser(alice), "a visitor": browser()}


@pytest.fixture
def people(readers, browser, raw, store):
    moderator = register(store, "dan")
    Roles(store).give(moderator.user.uid, Role.MODERATOR)
    admin = register(store, "frida")
    raw.hset(f"user:{admin.user.uid}", "role", "admin")
    raw.hset("report:7", mapping={"who": 1, "whom": 2, "pid": 2, "reason": "spam", "body": "post 2"})
    for key in ("reports", "reports_about:2"):
        raw.zadd(key, {"7": 7})
    for uid in (1, 3):
        Sanctions(store).impose(uid, State.HIDDEN, "noise")
    Sanctions(store).appeal(3, "I am sorry.")
    raw.hset(f"user:{moderator.user.uid}", "invited_by", 1)
    Applications(store).apply("erik", "argon2$hash", "why")
    return {**readers, "a moderator": browser(moderator), "an admin": browser(admin)}


def cost(client, url, round_trips):
    recorded = round_trips(lambda: client.get(url))
    return len(recorded.round_trips), len(recorded.commands)


def test_every_page_costs_what_the_table_says(readers, round_trips):
    found = {(url, reader): costs(readers[reader], url, round_trips) for url, reader in COSTS}
    assert found == COSTS


@pytest.mark.parametrize(("url", "reader"), COSTS_OF_THE_INSPECTOR)
def test_a_page_about_a_key_costs_what_the_table_says(readers, round_trips, url, reader, settings):
    settings.INSPECT = True
    behind = COSTS_BEHIND_A_PROXY if settings.REDIS_TOPOLOGY == "twemproxy" else {}
    assert costs(readers[reader], url, round_trips) == (COSTS_OF_THE_INSPECTOR | behind)[url, reader]


def test_every_page_of_staff_or_of_a_person_in_its_care_costs_what_the_table_says(people, round_trips, monkeypatch):
    monkeypatch.setattr(log, "FIRST_YEAR", datetime.now(UTC).year)  # the log asks for each year
    found = {(url, reader): costs(people[reader], url, round_trips) for url, reader in COSTS_OF_STAFF}
    assert found == COSTS_OF_STAFF


def costs(client, url, round_trips):
    """With warm caches, and with empty ones."""
    assert client.get(url).status_code == 200  # it rebuilds what is missing
    Memory.clear_all()
    cold = cost(client, url, round_trips)
    client.get(url)  # it caches what the first request found out about authors
    warm = cost(client, url, round_trips)
    return warm, cold
