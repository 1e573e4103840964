"""Who sees a person and their posts, and where: one table for all lists, all viewers and all that hides people.

bob is the person. The keys of what hides him are written directly: nothing was removed when it began, so each list must
look for itself.
"""

import time

import pytest

from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from tests.support.stored_posts import like, write_recent
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Bookmarks, Follows
from timeline.search.index import Indexing

ALICE, BOB, CAROL = 1, 2, 3
WRITTEN, AMONG = "the walrus", 'href="/@bob/"'

# By name, the address of a list and what it has while bob is seen in it.
OWN = {
    "his profile": ("/@bob/", WRITTEN),
    "his posts and replies": ("/@bob/replies/", WRITTEN),
    "a post of his": ("/@bob/2/", WRITTEN),
    "his feed": ("/@bob/atom/", WRITTEN),
}
POSTS = {
    "home, or the welcome page": ("/", WRITTEN),
    "everyone": ("/timeline/", WRITTEN),
    "the feed of everyone": ("/timeline/atom/", WRITTEN),
    "a tag": ("/tags/walrus/", WRITTEN),
    "the feed of a tag": ("/tags/walrus/atom/", WRITTEN),
    "the search": ("/search/?q=walrus", "Here is the"),
    "a repost and a quote": ("/@carol/", WRITTEN),
    "a thread": ("/@carol/1/", "bob answers"),
    "quotes": ("/@carol/1/quotes/", "bob quotes"),
}
POSTS_OF_USERS = {
    "likes": ("/likes/", WRITTEN),
    "bookmarks": ("/bookmarks/", WRITTEN),
    "followed tags": ("/tags/", WRITTEN),
    "notifications": ("/notifications/", "bob calls"),
}
PEOPLE = {
    "the directory": ("/people/", AMONG),
    "the most followed": ("/people/?by=followers", AMONG),
    "people by name": ("/people/?q=bob", AMONG),
    "names above a search": ("/search/?q=bob", AMONG),
    "followers": ("/@carol/followers/", AMONG),
    "following": ("/@carol/following/", AMONG),
    "who likes a post": ("/@carol/1/likes/", AMONG),
    "who reposts a post": ("/@carol/1/reposts/", AMONG),
}
PEOPLE_OF_USERS = {"completed names": ("/complete/?q=@bo", "@bob")}
PROPOSED = {
    "the newest users": ("/timeline/?before=1", AMONG),
    "people to follow": ("/explore/", 'class="name" href="/@bob/"'),
    "the posts of the day": ("/explore/", WRITTEN),
    "the tags of the week": ("/explore/", 'href="/tags/otter/"'),  # without him, too few people use it
}

# The same lists as apps read them.
IN_APPS = {
    "his profile": ("/api/v1/accounts/2/statuses?exclude_replies=true", WRITTEN),
    "his posts and replies": ("/api/v1/accounts/2/statuses", WRITTEN),
    "a post of his": ("/api/v1/statuses/2", WRITTEN),
    "home, or the welcome page": ("/api/v1/timelines/home", WRITTEN),
    "everyone": ("/api/v1/timelines/public", WRITTEN),
    "a tag": ("/api/v1/timelines/tag/walrus", WRITTEN),
    "the search": ("/api/v2/search?q=walrus", WRITTEN),
    "a repost and a quote": ("/api/v1/accounts/3/statuses", WRITTEN),
    "a thread": ("/api/v1/statuses/1/context", "bob answers"),
    "likes": ("/api/v1/favourites", WRITTEN),
    "bookmarks": ("/api/v1/bookmarks", WRITTEN),
    "notifications": ("/api/v1/notifications", "bob calls"),
    "followers": ("/api/v1/accounts/3/followers", '"acct":"bob"'),
    "following": ("/api/v1/accounts/3/following", '"acct":"bob"'),
    "who likes a post": ("/api/v1/statuses/1/favourited_by", '"acct":"bob"'),
    "who reposts a post": ("/api/v1/statuses/1/reblogged_by", '"acct":"bob"'),
}

FOR_ALL = {**OWN, **POSTS, **PEOPLE, **PROPOSED}
LISTS = {**FOR_ALL, **POSTS_OF_USERS, **PEOPLE_OF_USERS}
# Tags are counted anew when a deletion is finished.
WITHOUT_POSTS = {*PEOPLE, *PEOPLE_OF_USERS, *PROPOSED} - {"the posts of the day"}
# What visitors see, also for users.
THE_SAME = {name for name in LISTS if "feed" in name} | {"the tags of the week"}


def follow(raw):
    raw.zadd("following:1", {BOB: 1})
    raw.zadd("followers:2", {ALICE: 1})


def block(raw, who, whom):
    raw.zadd(f"blocked:{who}", {whom: 1})
    raw.zadd(f"blocked_by:{whom}", {who: 1})


def impose(raw, state):
    raw.hset(f"user:{BOB}", "state", state)


def hide_and_follow(raw):
    impose(raw, "hidden")
    follow(raw)


# By what stands between alice and bob: how it comes about, and the lists in which she sees him.
CASES = {
    "nothing": (lambda raw: None, {*LISTS}),
    "she is staff": (lambda raw: raw.hset("user:1", "role", "moderator"), {*LISTS}),
    "he blocks her": (lambda raw: block(raw, BOB, ALICE), THE_SAME),
    "she blocks him": (lambda raw: block(raw, ALICE, BOB), THE_SAME),
    "she mutes him": (lambda raw: raw.zadd("muted:1", {BOB: "+inf"}), THE_SAME | {*OWN}),
    "she mutes him for a while": (lambda raw: raw.zadd("muted:1", {BOB: time.time() + 60}), THE_SAME | {*OWN}),
    "she muted him once": (lambda raw: raw.zadd("muted:1", {BOB: 1}), {*LISTS}),
    "he is frozen": (lambda raw: impose(raw, "frozen"), {*LISTS}),
    "he is hidden": (lambda raw: impose(raw, "hidden"), {*OWN}),
    "he is hidden, and she follows him": (hide_and_follow, {*LISTS} - {*PROPOSED} - THE_SAME | {*OWN}),
    "he is suspended": (lambda raw: impose(raw, "suspended"), set()),
    "his account is deleted": (lambda raw: raw.hset(f"user:{BOB}", "deleted", 1), set()),
    "his posts are deleted": (
        lambda raw: [raw.hset(f"post:{pid}", "deleted", 1) for pid in (2, 3, 4, 5)],
        WITHOUT_POSTS,
    ),
}
OF_VISITORS = {
    "nothing": {*FOR_ALL},
    "he is frozen": {*FOR_ALL},
    "he is hidden": {*OWN},
    "he is suspended": set(),
    "his account is deleted": set(),
    "his posts are deleted": WITHOUT_POSTS & {*FOR_ALL},
}


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """alice follows carol, who answers, quotes and reposts bob and is followed by him. Each list has bob in it."""
    Follows(store).follow(ALICE, CAROL)
    Follows(store).follow(BOB, CAROL)
    Follows(store).follow(CAROL, BOB)
    for number, (uid, new) in enumerate(
        [
            (CAROL, NewPost("carol begins #otter")),
            (BOB, NewPost("Here is the walrus #walrus")),
            (BOB, NewPost("bob answers #otter", reply_to=1)),
            (BOB, NewPost("bob quotes", quote=1)),
            (BOB, NewPost("bob calls @alice")),
            (CAROL, NewPost("carol quotes", quote=2)),
        ]
    ):
        Posts(store).publish(uid, new, f"post-{number}")
    Reposts(store).repost(CAROL, 2, BOB)
    Reposts(store).repost(BOB, 1, CAROL)
    Bookmarks(store).add(ALICE, 2, BOB)
    like(raw, 2, ALICE, CAROL)
    like(raw, 1, BOB)
    write_recent(raw, 9, uid=4, body="#otter")
    raw.zadd("tags_of:1", {"walrus": 1})
    drain(store, "a worker")
    Indexing(store).index(range(1, 9))
    return raw


def seen(client, lists):
    """The lists in which bob is seen."""
    return {name for name, (address, what) in lists.items() if what in client.get(address).content.decode()}


@pytest.mark.parametrize("case", CASES)
def test_what_a_user_sees(site, browser, alice, case):
    happens, expected = CASES[case]
    client = browser(alice)
    happens(site)
    Memory.clear_all()
    assert seen(client, LISTS) == expected
    assert seen(App(alice).client, IN_APPS) == expected & {*IN_APPS}


@pytest.mark.parametrize("case", OF_VISITORS)
def test_what_a_visitor_sees(site, browser, case):
    happens, _ = CASES[case]
    happens(site)
    Memory.clear_all()
    assert seen(browser(), LISTS) == OF_VISITORS[case]
    in_apps = {*IN_APPS} - {"home, or the welcome page"}  # apps have no welcome page
    assert seen(App().client, IN_APPS) == OF_VISITORS[case] & in_apps


@pytest.mark.parametrize("case", ["he is hidden", "he is suspended", "she mutes him", "he blocks her"])
def test_new_posts_are_announced_only_if_they_are_seen(site, member, case):
    assert "new post" in member.get("/new/?after=6").content.decode()
    CASES[case][0](site)
    Memory.clear_all()
    # Above it stands carol's repost of bob's post alone.
    assert "new post" not in member.get("/new/?after=6").content.decode()


def test_a_muted_person_is_not_named_among_known_followers(site, member):
    follow(site)
    Memory.clear_all()
    assert "Followed by" in member.get("/@carol/").content.decode()
    CASES["she mutes him"][0](site)
    Memory.clear_all()
    assert "Followed by" not in member.get("/@carol/").content.decode()


def test_what_a_follower_reads_of_a_hidden_person_is_not_kept_for_others(site, browser, alice, carol):
    hide_and_follow(site)
    Memory.clear_all()
    follower, member = browser(alice), browser(carol)
    site.zrem("following:3", BOB)
    for _ in range(2):
        assert WRITTEN in follower.get("/timeline/").content.decode()
        assert WRITTEN not in member.get("/timeline/").content.decode()
        assert WRITTEN not in browser().get("/timeline/").content.decode()
        assert WRITTEN in follower.get("/timeline/").content.decode()
