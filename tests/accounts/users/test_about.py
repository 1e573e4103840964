"""What a profile tells of somebody: how they want to be called, what they say, since when they are here, and who of
those whom the viewer knows follows them."""

import html
import re

import pytest

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.store import local_cache
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import text_of
from tests.support.people import register
from tests.support.protocols.site_machine import Clock
from timeline.people.entities import About, KnownFollowers
from timeline.relations.entities import InCommon
from timeline.relations.follow import Follows
from timeline.timelines.profile import Profiles

MARCH = 1_772_800_000  # 2026-03-06T12:26:40Z


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Nothing that is remembered grows old while a slow machine thinks."""
    monkeypatch.setattr(local_cache, "time", Clock())


def known(store, viewer, name="Alice"):
    """Who of those whom the viewer follows follows her."""
    Memory.clear_all()
    return Profiles(store).page(Viewer(store, viewer.secret), name, None).relation.known


def main(page):
    text = page.content.decode()
    return text[text.index("<main") :]


def test_a_profile_without_any_of_it_says_no_more_than_it_did(browser, raw, alice):
    page = main(browser().get("/@alice/"))
    assert '<h1 class="name">Alice</h1>' in page
    assert "bio" not in page
    assert "handle" not in page


def test_the_shown_name_stands_first_and_the_username_beside_it(browser, raw, alice):
    raw.hset("user:1", "name", "Alice Liddell")
    page = browser().get("/@alice/").content.decode()
    assert '<h1 class="name"><bdi>Alice Liddell</bdi> <bdi class="handle">@Alice</bdi></h1>' in page
    assert "<title>\u2068Alice Liddell\u2069 (@alice) · Retwis</title>" in page


def test_a_bio_has_the_links_of_a_post(browser, raw, alice):
    raw.hset("user:1", "bio", "With @bob at https://example.org/a <b>& more")
    page = main(browser().get("/@alice/"))
    [bio] = re.findall(r'<p class="bio" dir="auto">(.*)</p>', page)
    assert bio == (
        'With <a href="/@bob/">@bob</a> at <a href="https://example.org/a" rel="nofollow ugc noopener">'
        "https://example.org/a</a> &lt;b&gt;&amp; more"
    )


def test_since_when_they_are_here_is_said_in_words_and_exactly(browser, raw, alice):
    raw.zadd("users_by_time", {"Alice": MARCH})
    page = browser().get("/@ALICE/")
    exact = '<time datetime="2026-03-06T12:26:40Z" title="6 March 2026, 12:26 UTC">March 2026</time>'
    assert exact in page.content.decode()
    assert "Joined in March 2026" in text_of(page)


def test_that_never_changes_and_so_is_asked_once(browser, raw, alice, round_trips, settings):
    settings.PAGE_MEMORY = False
    client = browser()

    def asks():
        return [
            command for command in round_trips(lambda: client.get("/@alice/")).commands if "users_by_time" in command
        ]

    assert len(asks()) == 1
    assert asks() == []


def test_who_stands_in_no_such_list_joined_at_no_time(browser, raw, alice):
    raw.zrem("users_by_time", "Alice")
    for _ in range(2):
        page = browser().get("/@alice/")
        assert page.status_code == 200
        assert "Joined" not in text_of(page)


def test_what_was_changed_is_seen_at_once_but_for_what_is_remembered(store, raw, alice):
    viewer = Viewer(store, "")
    assert Profiles(store).page(viewer, "alice", None).about.bio == ""
    raw.hset("user:1", mapping={"name": "Queen", "bio": "Off with it"})
    found = Profiles(store).page(Viewer(store, ""), "alice", None)
    assert found.person == User(1, "Alice", "Queen")
    assert found.about == About("Off with it", int(raw.zscore("users_by_time", "Alice")))


# ---- follows you


def test_who_follows_the_viewer_is_said_to(browser, store, alice, bob, raw):
    client = browser(bob)
    assert "Follows you" not in text_of(client.get("/@alice/"))
    Follows(store).follow(1, 2)
    assert "Follows you" in text_of(client.get("/@alice/"))
    assert "Follows you" not in text_of(browser(alice).get("/@bob/"))
    assert "Follows you" not in text_of(browser(alice).get("/@alice/"))
    assert "Follows you" not in text_of(browser().get("/@alice/"))


def test_the_truth_of_that_is_what_they_follow_and_not_its_mirror(browser, alice, bob, raw):
    raw.zadd("followers:2", {"1": 1})
    assert "Follows you" not in text_of(browser(bob).get("/@alice/"))
    raw.delete("followers:2")
    raw.zadd("following:1", {"2": 1})
    assert "Follows you" in text_of(browser(bob).get("/@alice/"))


# ---- whom one knows


@pytest.fixture
def people(store, alice, bob):
    """Five whom bob follows, and who follow alice as soon as a test says so."""
    friends = [register(store, f"friend{number}").user for number in range(5)]
    for friend in friends:
        Follows(store).follow(bob.user.uid, friend.uid)
    return friends


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (1, "Followed by friend0"),
        (2, "Followed by friend0 and friend1"),
        (3, "Followed by friend0, friend1 and 1 other you follow"),
        (5, "Followed by friend0, friend1 and 3 others you follow"),
    ],
)
def test_two_of_them_are_named_and_the_others_counted(browser, store, people, bob, number, sentence):
    for friend in people[:number]:
        Follows(store).follow(friend.uid, 1)
    page = browser(bob).get("/@alice/")
    [told] = re.findall(r"<p class=\"note\">\s*(Followed by .*?)\s*</p>", main(page), re.DOTALL)
    assert html.unescape(re.sub("<[^>]+>", "", told)) == sentence
    assert re.findall('href="([^"]+)"', told) == ["/@friend0/", "/@friend1/"][:number]


def test_nobody_known_is_not_mentioned(browser, store, people, bob, carol):
    Follows(store).follow(carol.user.uid, 1)
    assert known(store, bob) is None
    assert "Followed by" not in text_of(browser(bob).get("/@alice/"))
    Follows(store).follow(people[0].uid, 1)
    assert "Followed by" not in text_of(browser().get("/@alice/"))


def test_their_shown_names_are_what_is_shown_each_for_itself(browser, store, people, bob, raw):
    Follows(store).follow(people[0].uid, 1)
    raw.hset(f"user:{people[0].uid}", "name", "\u202eAnn <i>")
    Memory.clear_all()
    page = main(browser(bob).get("/@alice/"))
    assert 'Followed by <a href="/@friend0/"><bdi>\u202eAnn &lt;i&gt;</bdi></a>' in page


def test_whose_account_is_deleted_is_not_named(store, people, bob, raw):
    for friend in people:
        Follows(store).follow(friend.uid, 1)
    raw.hset(f"user:{people[0].uid}", "deleted", 1)
    assert [one.username for one in known(store, bob).people] == ["friend1", "friend2"]


def test_whose_account_is_deleted_is_not_counted_either(browser, store, people, bob, raw):
    for friend in people[:3]:
        Follows(store).follow(friend.uid, 1)
    raw.hset(f"user:{people[0].uid}", "deleted", 1)
    raw.delete(f"user:{people[1].uid}")
    assert known(store, bob) == KnownFollowers((people[2],), InCommon(0, exact=True))
    raw.hset(f"user:{people[2].uid}", "deleted", 1)
    Memory.clear_all()
    assert known(store, bob) is None
    assert "Followed by" not in text_of(browser(bob).get("/@alice/"))


def test_it_is_the_same_whichever_side_is_the_smaller(store, people, bob, raw):
    for friend in people[1:4]:
        Follows(store).follow(friend.uid, 1)
    expected = KnownFollowers(tuple(people[1:3]), InCommon(1, exact=True))
    assert known(store, bob) == expected
    raw.zadd("followers:1", {str(uid): 5 for uid in range(1000, 1100)})
    assert known(store, bob) == expected
    raw.zadd("following:2", {str(uid): 5 for uid in range(2000, 2400)})
    assert known(store, bob) == expected


@pytest.mark.parametrize(("size", "others"), [(10_000, "9998"), (10_001, "9998+")])
def test_it_is_exact_up_to_ten_thousand_and_honest_beyond(browser, store, people, bob, raw, size, others):
    uids = [str(people[0].uid + number) for number in range(size)]
    raw.delete("following:2", "followers:1")
    raw.zadd("following:2", dict.fromkeys(uids, 1))
    raw.zadd("followers:1", dict.fromkeys(uids, 1))
    assert f"Followed by friend0, friend1 and {others} others you follow" in text_of(browser(bob).get("/@alice/"))


def test_no_set_is_read_twice_for_one_page(store, people, bob, raw, round_trips):
    Follows(store).follow(people[0].uid, 1)
    Memory.clear_all()
    recorded = round_trips(lambda: Profiles(store).page(Viewer(store, bob.secret), "alice", None))
    read = [command for command in recorded.commands if command[0] == "ZRANGE"]
    assert len(read) == len({command[1] for command in read})


def test_names_that_are_remembered_cost_nothing(store, people, bob, round_trips):
    Follows(store).follow(people[0].uid, 1)
    Memory.clear_all()

    def read():
        Profiles(store).page(Viewer(store, bob.secret), "alice", None)

    read()
    assert len(round_trips(read).round_trips) == 1
    Memory.clear_all()
    Viewer(store, bob.secret).ask_about("alice", lambda pipe, me, them: None)
    Users(store).people([people[0].uid])
    assert len(round_trips(read).round_trips) == 3
