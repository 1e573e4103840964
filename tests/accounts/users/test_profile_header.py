"""The header of a profile: names, bio, date of registration, "Follows you", and the followers that the viewer knows.
Display names on all pages: beside the username, and never read as markup."""

import html
import re

import pytest

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.html import isolated
from accounts.users.repository import Users
from retwis_site.store.local_cache import Memory
from tests.support.http.hostile_values import MARKER
from tests.support.http.page_text import text_of
from tests.support.people import register
from tests.support.stored_keys import publish
from timeline.people.lists import KnownFollowers, ProfileTexts
from timeline.relations.relations import Follows, InCommon
from timeline.timelines.profile import Profiles

pytestmark = pytest.mark.usefixtures("clock")

MARCH = 1_772_800_000  # 2026-03-06T12:26:40Z


def known_followers(store, viewer, name="Alice"):
    """The followers of `name` that the viewer follows, as the profile has them."""
    Memory.clear_all()
    return Profiles(store).page(Viewer(store, viewer.secret), name, None).relation.known


def main(page):
    text = page.content.decode()
    return text[text.index("<main") :]


def test_a_profile_without_a_name_and_a_bio_shows_the_username_alone(browser, raw, alice):
    page = main(browser().get("/@alice/"))
    assert '<h1 class="name">@Alice</h1>' in page
    assert "bio" not in page
    assert "handle" not in page


def test_the_username_follows_the_display_name(browser, raw, alice):
    raw.hset("user:1", "name", "Alice Liddell")
    page = browser().get("/@alice/").content.decode()
    assert '<h1 class="name"><bdi>Alice Liddell</bdi> <bdi class="handle">@Alice</bdi></h1>' in page
    assert "<title>\u2068Alice Liddell\u2069 (@Alice) · Retwis</title>" in page


def test_a_bio_has_links_like_a_post(browser, raw, alice):
    raw.hset("user:1", "bio", "With @bob at https://example.org/a <b>& more")
    page = main(browser().get("/@alice/"))
    [bio] = re.findall(r'<p class="bio" dir="auto">(.*)</p>', page)
    assert bio == (
        'With <a href="/@bob/">@bob</a> at <a href="https://example.org/a" rel="nofollow ugc noopener" dir="ltr">'
        "https://example.org/a</a> &lt;b&gt;&amp; more"
    )


def test_the_date_of_registration_is_shown_as_a_month_and_exactly_in_its_title(browser, raw, alice):
    raw.zadd("users_by_time", {"Alice": MARCH})
    page = browser().get("/@ALICE/")
    exact = '<time datetime="2026-03-06T12:26:40Z" title="6 March 2026, 12:26 UTC">March 2026</time>'
    assert exact in page.content.decode()
    assert "Joined in March 2026" in text_of(page)


def test_the_date_of_registration_never_changes_and_is_read_once(client, alice, round_trips, clock):
    def read_dates():
        return [
            command for command in round_trips(lambda: client.get("/@alice/")).commands if "users_by_time" in command
        ]

    assert len(read_dates()) == 1
    clock.sleep(60)
    assert read_dates() == []


def test_a_user_without_a_date_of_registration_has_none_on_the_page(browser, raw, alice):
    raw.zrem("users_by_time", "Alice")
    for _ in range(2):
        page = browser().get("/@alice/")
        assert page.status_code == 200
        assert "Joined" not in text_of(page)


def test_a_new_name_and_a_new_bio_are_seen_at_once(store, raw, alice):
    viewer = Viewer(store, "")
    assert Profiles(store).page(viewer, "alice", None).about.bio == ""
    raw.hset("user:1", mapping={"name": "Queen", "bio": "Off with it"})
    found = Profiles(store).page(Viewer(store, ""), "alice", None)
    assert found.person == User(1, "Alice", "Queen")
    assert found.about == ProfileTexts("Off with it", int(raw.zscore("users_by_time", "Alice")))


# ---- follows you


def test_the_profile_of_a_follower_says_so(browser, store, alice, bob, raw):
    client = browser(bob)
    assert "Follows you" not in text_of(client.get("/@alice/"))
    Follows(store).follow(1, 2)
    assert "Follows you" in text_of(client.get("/@alice/"))
    assert "Follows you" not in text_of(browser(alice).get("/@bob/"))
    assert "Follows you" not in text_of(browser(alice).get("/@alice/"))
    assert "Follows you" not in text_of(browser().get("/@alice/"))


def test_follows_you_is_read_from_following_and_not_from_followers(browser, alice, bob, raw):
    raw.zadd("followers:2", {"1": 1})
    assert "Follows you" not in text_of(browser(bob).get("/@alice/"))
    raw.delete("followers:2")
    raw.zadd("following:1", {"2": 1})
    assert "Follows you" in text_of(browser(bob).get("/@alice/"))


# ---- known followers


@pytest.fixture
def friends(store, alice, bob):
    """Five users that bob follows. A test lets some of them follow alice."""
    friends = [register(store, f"friend{number}").user for number in range(5)]
    for friend in friends:
        Follows(store).follow(bob.user.uid, friend.uid)
    return friends


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (1, "Followed by @friend0"),
        (2, "Followed by @friend0 and @friend1"),
        (3, "Followed by @friend0, @friend1 and 1 other you follow"),
        (5, "Followed by @friend0, @friend1 and 3 others you follow"),
    ],
)
def test_two_known_followers_are_named_and_the_others_counted(browser, store, friends, bob, number, sentence):
    for friend in friends[:number]:
        Follows(store).follow(friend.uid, 1)
    page = browser(bob).get("/@alice/")
    [text] = re.findall(r"<p class=\"note\">\s*(Followed by .*?)\s*</p>", main(page), re.DOTALL)
    assert html.unescape(re.sub("<[^>]+>", "", text)) == sentence
    assert re.findall('href="([^"]+)"', text) == ["/@friend0/", "/@friend1/"][:number]


def test_without_known_followers_there_is_no_sentence(browser, store, friends, bob, carol):
    Follows(store).follow(carol.user.uid, 1)
    assert known_followers(store, bob) is None
    assert "Followed by" not in text_of(browser(bob).get("/@alice/"))
    Follows(store).follow(friends[0].uid, 1)
    assert "Followed by" not in text_of(browser().get("/@alice/"))


def test_known_followers_are_shown_by_their_isolated_display_names(browser, store, friends, bob, raw):
    Follows(store).follow(friends[0].uid, 1)
    raw.hset(f"user:{friends[0].uid}", "name", "\u202eAnn <i>")
    Memory.clear_all()
    page = main(browser(bob).get("/@alice/"))
    assert 'Followed by <a href="/@friend0/"><bdi>\u202eAnn &lt;i&gt;</bdi></a>' in page


def test_a_deleted_known_follower_is_not_counted(browser, store, friends, bob, raw):
    for friend in friends[:3]:
        Follows(store).follow(friend.uid, 1)
    raw.hset(f"user:{friends[0].uid}", "deleted", 1)
    raw.delete(f"user:{friends[1].uid}")
    assert known_followers(store, bob) == KnownFollowers((friends[2],), InCommon(0, exact=True))
    raw.hset(f"user:{friends[2].uid}", "deleted", 1)
    Memory.clear_all()
    assert known_followers(store, bob) is None
    assert "Followed by" not in text_of(browser(bob).get("/@alice/"))


def test_known_followers_are_the_same_whichever_set_is_smaller(store, friends, bob, raw):
    for friend in friends[1:4]:
        Follows(store).follow(friend.uid, 1)
    expected = KnownFollowers(tuple(friends[1:3]), InCommon(1, exact=True))
    assert known_followers(store, bob) == expected
    raw.zadd("followers:1", {str(uid): 5 for uid in range(1000, 1100)})
    assert known_followers(store, bob) == expected
    raw.zadd("following:2", {str(uid): 5 for uid in range(2000, 2400)})
    assert known_followers(store, bob) == expected


def test_no_set_is_read_twice_for_one_page(store, friends, bob, raw, round_trips):
    Follows(store).follow(friends[0].uid, 1)
    Memory.clear_all()
    recorded = round_trips(lambda: Profiles(store).page(Viewer(store, bob.secret), "alice", None))
    read = [command for command in recorded.commands if command[0] == "ZRANGE"]
    assert len(read) == len({command[1] for command in read})


def test_cached_names_cost_no_round_trip(store, friends, bob, round_trips):
    Follows(store).follow(friends[0].uid, 1)
    Memory.clear_all()

    def read():
        Profiles(store).page(Viewer(store, bob.secret), "alice", None)

    read()
    assert len(round_trips(read).round_trips) == 1
    Memory.clear_all()
    Viewer(store, bob.secret).find("alice")
    Users(store).people([friends[0].uid])
    assert len(round_trips(read).round_trips) == 2  # when alice has joined is not known any more


# ---- Display names on pages: beside the username, never read as markup, and without effect on the text around them.


ALICE_SHOWN = '<bdi>Alice Liddell</bdi> <bdi class="handle">@Alice</bdi>'


@pytest.fixture
def named_alice(raw, store, alice, bob):
    """alice has a display name and a post. She and bob follow each other."""
    raw.hset("user:1", "name", "Alice Liddell")
    publish(raw, store, alice, "Down the hole")
    Follows(store).follow(1, 2)
    Follows(store).follow(2, 1)
    Memory.clear_all()


@pytest.mark.usefixtures("named_alice")
@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/timeline/",
        "/@alice/",
        "/@alice/1/",
        "/@bob/followers/",
        "/@bob/following/",
        "/@alice/followers/",
        "/people/",
    ],
)
def test_the_display_name_is_shown_on_every_page(browser, bob, url):
    assert ALICE_SHOWN in main(browser(bob).get(url))


@pytest.mark.usefixtures("named_alice")
def test_the_display_name_is_shown_at_home_and_in_suggestions(browser, alice, bob, carol, raw):
    assert ALICE_SHOWN in main(browser(alice).get("/"))
    assert '<bdi class="me-name">Alice Liddell</bdi>' in browser(alice).get("/").content.decode()
    assert ALICE_SHOWN in main(browser(carol).get("/"))


@pytest.mark.usefixtures("named_alice")
@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("/@alice/", "\u2068Alice Liddell\u2069 (@Alice) · Retwis"),
        ("/@alice/1/", "\u2068Alice Liddell\u2069: Down the hole · Retwis"),
        ("/@alice/followers/", "Followers of \u2068Alice Liddell\u2069 · Retwis"),
        ("/@alice/following/", "People followed by \u2068Alice Liddell\u2069 · Retwis"),
        ("/@bob/", "@bob · Retwis"),
    ],
)
def test_titles_have_the_display_name(browser, url, title):
    assert f"<title>{title}</title>" in browser().get(url).content.decode()


def test_without_a_display_name_the_username_stands_alone(browser, raw, store, alice, bob):
    publish(raw, store, alice, "Down the hole")
    page = main(browser(bob).get("/timeline/"))
    assert '<p class="author"><a href="/@Alice/">@Alice</a> <a class="age"' in page
    assert "handle" not in page


@pytest.mark.usefixtures("named_alice")
@pytest.mark.parametrize(
    "url", ["/", "/timeline/", "/@alice/", "/@alice/1/", "/@bob/followers/", "/people/", "/people/?q=a"]
)
def test_markup_in_a_name_is_shown_as_text(browser, bob, raw, url):
    raw.hset("user:1", mapping={"name": MARKER, "bio": MARKER})
    raw.zadd("users_by_name", {f"{MARKER.lower()}:1": 0})
    page = browser(bob).get(url).content.decode()
    assert "<zq7" not in page
    assert "&lt;zq7" in page


def test_names_in_the_text_of_a_page_are_isolated(browser, bob, raw, named_alice):
    raw.hset("user:1", "name", "\u202eevil")
    for url in ("/", "/timeline/", "/@alice/", "/@alice/1/", "/@alice/followers/", "/@bob/followers/", "/people/"):
        page = browser(bob).get(url).content.decode()
        assert "\u202eevil" in page
        text = re.sub(r"<bdi[^>]*>[^<]*</bdi>|\u2068evil\u2069", "", page[page.index("<body") :])
        assert "evil" not in text, url


def test_names_in_titles_are_isolated():
    assert isolated(User(1, "a", "\u202eev\u2069il\u2066")) == "\u2068evil\u2069"
    assert isolated(User(1, "a")) == "@a"
