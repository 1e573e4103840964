"""The followers and following pages: all rows, the mutual ones, and those that are not followed back."""

import re

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import Visitor
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import text_of
from tests.support.people import register
from timeline.people import directory
from timeline.people.directory import FollowPages
from timeline.people.lists import Show, id_cursor
from timeline.relations.relations import Follows

FIRST = 10  # the lowest uid of `add_users`


@pytest.fixture
def small(monkeypatch):
    """Pages of three rows, for which four rows are compared, and six more where these do not fill the page."""
    monkeypatch.setattr(directory, "PEOPLE_A_PAGE", 3)
    monkeypatch.setattr(directory, "FIRST_COMPARED", 4)
    monkeypatch.setattr(directory, "COMPARED", 6)


def add_users(raw, number):
    for uid in range(FIRST, FIRST + number):
        raw.hset(f"user:{uid}", "username", f"person{uid}")


def names(page):
    text = page.content.decode()
    people = text.partition('<ul class="panel people listed"')[2]
    return re.findall(r'<a class="name" href="/@(\w+)/"', people)


def read_all_pages(store, side, show, name="alice"):
    """The uids of the rows on all pages, and the number of pages."""
    found, before, pages = [], None, 0
    while True:
        Memory.clear_all()
        page = FollowPages(store, side).page(Viewer(store, ""), name, before, show)
        found += [edge.listed.user.uid for edge in page.edges]
        pages += 1
        if page.older is None:
            return found, pages
        before = page.older


@pytest.fixture
def edges(store, alice, bob, carol):
    """alice and bob follow each other; alice follows carol, and dora follows alice."""
    dora = register(store, "dora")
    for me, them in ((1, 2), (2, 1), (1, 3), (dora.user.uid, 1)):
        Follows(store).follow(me, them)


@pytest.mark.usefixtures("edges")
def test_each_filter_shows_its_rows(browser):
    client = browser()
    assert set(names(client.get("/@alice/followers/"))) == {"bob", "dora"}
    assert names(client.get("/@alice/followers/?show=mutual")) == ["bob"]
    assert names(client.get("/@alice/followers/?show=not-followed-back")) == ["dora"]
    assert set(names(client.get("/@alice/following/"))) == {"bob", "carol"}
    assert names(client.get("/@alice/following/?show=mutual")) == ["bob"]
    assert names(client.get("/@alice/following/?show=not-followed-back")) == ["carol"]


@pytest.mark.usefixtures("edges")
def test_the_filters_are_links_and_the_current_one_is_marked(browser):
    for show, address in (("", "/@alice/followers/"), *((show, f"?show={show}") for show in list(Show)[1:])):
        page = browser().get(f"/@alice/followers/?show={show}").content.decode()
        [pills] = re.findall(r'<nav class="pills".*?</nav>', page, re.DOTALL)
        assert re.findall(r'<a href="([^"]+)" aria-current="true">', pills) == [address]
        assert re.findall(r'href="([^"]+)"', pills) == ["/@alice/followers/", "?show=mutual", "?show=not-followed-back"]


@pytest.mark.parametrize("side", ["followers", "following"])
@pytest.mark.parametrize("show", ["mutual", "not-followed-back"])
def test_an_empty_filter_explains_what_it_would_show(browser, alice, side, show):
    page = browser().get(f"/@alice/{side}/?show={show}")
    assert "No one here" in text_of(page)
    assert "appear here" in text_of(page)


def test_a_later_page_keeps_the_filter(browser, raw, alice, small):
    add_users(raw, 8)
    raw.zadd("followers:1", {FIRST + number: 100 + number for number in range(8)})
    raw.zadd("following:1", {FIRST + number: 100 for number in range(8)})
    page = browser().get("/@alice/followers/?show=mutual").content.decode()
    [link] = re.findall(r'href="(\?show=mutual&amp;before=[^"]+)"', page)
    later = browser().get(f"/@alice/followers/{link.replace('&amp;', '&')}")
    assert names(later) == ["person14", "person13", "person12"]
    assert '<a href="/@alice/followers/?show=mutual">Back to the newest followers</a>' in later.content.decode()


def test_a_page_compares_a_limited_number_of_rows_and_says_so(client, raw, alice, small):
    add_users(raw, 25)
    raw.zadd("followers:1", {FIRST + number: 1000 - number for number in range(25)})
    raw.zadd("following:1", {FIRST + 22: 1})
    first = client.get("/@alice/followers/?show=mutual")
    assert names(first) == []
    assert "No one found so far. There are more people to check. Keep searching" in text_of(first)
    [older] = re.findall(r"before=(\d+-\d+)", first.content.decode())
    assert older == f"{1000 - 9}-{FIRST + 9}"  # the tenth
    second = client.get(f"/@alice/followers/?show=mutual&before={older}")
    assert names(second) == []
    [older] = re.findall(r"before=(\d+-\d+)", second.content.decode())
    last = client.get(f"/@alice/followers/?show=mutual&before={older}")
    assert names(last) == [f"person{FIRST + 22}"]
    assert "Keep searching" not in text_of(last)
    assert "That is everyone." in text_of(last)


def test_the_last_page_with_rows_that_fit_has_no_next_page(store, raw, alice, small):
    add_users(raw, 8)
    raw.zadd("followers:1", {FIRST + number: 1000 - number for number in range(8)})
    raw.zadd("following:1", {FIRST + number: 1 for number in range(3)})
    assert read_all_pages(store, "followers", Show.MUTUAL) == ([FIRST, FIRST + 1, FIRST + 2], 1)


@pytest.mark.parametrize("show", list(Show))
@pytest.mark.parametrize("change", ["removed", "moved up", "moved down"])
def test_when_the_last_row_of_a_page_moves_the_next_page_leaves_no_row_out(store, raw, alice, small, show, change):
    """A user that unfollows and follows again moves to the first row. The next page must not begin after that row."""
    add_users(raw, 9)
    raw.zadd("followers:1", {FIRST + number: 1000 - number // 3 for number in range(9)})
    if show is Show.MUTUAL:
        raw.zadd("following:1", {FIRST + number: 1 for number in range(9)})
    read = FollowPages(store, "followers").page
    first = read(Viewer(store, ""), "alice", None, show)
    second = read(Viewer(store, ""), "alice", first.older, show)
    assert [edge.listed.user.uid for edge in second.edges] == [FIRST + 5, FIRST + 4, FIRST + 3]
    raw.zrem("followers:1", FIRST + 3)
    if change != "removed":
        raw.zadd("followers:1", {FIRST + 3: 5000 if change == "moved up" else 10})
    third = read(Viewer(store, ""), "alice", second.older, show)
    assert [edge.listed.user.uid for edge in third.edges] == [
        FIRST + 5,
        FIRST + 4,
        FIRST + 8,
    ]  # all rows of that second again


@pytest.mark.parametrize("number", [1, 40, 300])
@pytest.mark.parametrize("fit", [0, 2])
def test_the_round_trips_do_not_depend_on_the_number_of_rows_that_fit(store, raw, alice, round_trips, number, fit):
    add_users(raw, number)
    raw.zadd("followers:1", {FIRST + uid: 1000 + uid for uid in range(number)})
    raw.zadd("following:1", {FIRST + uid: 1 for uid in (1000, *range(fit))})
    read = FollowPages(store, "followers").page
    read(Viewer(store, ""), "alice", None)
    for before, most in ((None, 3), ("5000-5", 4)):
        recorded = round_trips(lambda: read(Viewer(store, ""), "alice", id_cursor(before), Show.MUTUAL))  # noqa: B023  called at once
        assert most - 2 < len(recorded.round_trips) <= most
        assert sum(command[0] == "ZMSCORE" for command in recorded.commands) == 1


@pytest.mark.parametrize(("fit", "compared", "trips"), [(25, [500], 3), (2, [500, 100], 6)])
def test_many_rows_are_read_only_where_the_first_ones_do_not_fill_the_page(
    store, raw, alice, round_trips, fit, compared, trips
):
    add_users(raw, 600)
    raw.zadd("followers:1", {FIRST + number: 5000 - number for number in range(600)})
    raw.zadd("following:1", {FIRST + number: 1 for number in (*range(fit), 550)})
    read = FollowPages(store, "followers").page
    read(Viewer(store, ""), "alice", None)
    recorded = round_trips(lambda: read(Viewer(store, ""), "alice", None, Show.MUTUAL))
    assert [len(command) - 2 for command in recorded.commands if command[0] == "ZMSCORE"] == compared
    assert len(recorded.round_trips) == trips
    found = [edge.listed.user.uid for edge in read(Viewer(store, ""), "alice", None, Show.MUTUAL).edges]
    assert found == [FIRST + number for number in ([*range(fit)][:20] if fit > 20 else [*range(fit), 550])]


uids = st.integers(FIRST, FIRST + 30)


@hypothesis_settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    rows=st.dictionaries(uids, st.integers(0, 4)),
    others=st.sets(uids),
    side=st.sampled_from(["followers", "following"]),
    show=st.sampled_from(Show),
)
def test_all_pages_together_have_exactly_the_rows_that_fit(store, raw, alice, small, rows, others, side, show):
    raw.delete("followers:1", "following:1")
    add_users(raw, 31)
    other = {"followers": "following", "following": "followers"}[side]
    if rows:
        raw.zadd(f"{side}:1", rows)
    if others:
        raw.zadd(f"{other}:1", dict.fromkeys(others, 1))
    newest_first = sorted(rows, key=lambda uid: (rows[uid], str(uid)), reverse=True)
    fit = {
        Show.ALL: newest_first,
        Show.MUTUAL: [uid for uid in newest_first if uid in others],
        Show.NOT_FOLLOWED_BACK: [uid for uid in newest_first if uid not in others],
    }
    found, pages = read_all_pages(store, side, show)
    assert found == fit[show]
    assert pages <= len(rows) // 3 + 1


# ---- the mark "Follows you"


@pytest.mark.usefixtures("edges")
def test_users_that_follow_the_viewer_are_marked(browser, store, alice, bob, raw):
    page = browser(alice).get("/@alice/following/").content.decode()
    assert page.count("Follows you") == 1
    assert "Follows you" in page[page.index('class="name" href="/@bob/"') :]
    assert "Follows you" not in browser().get("/@alice/following/").content.decode()


@pytest.mark.usefixtures("edges")
def test_the_viewers_own_followers_are_not_marked(browser, alice):
    assert "Follows you" not in browser(alice).get("/@alice/followers/").content.decode()
    assert "Follows you" not in browser(alice).get("/@alice/followers/?show=mutual").content.decode()


def test_a_visitor_reads_followers_without_an_account(store, alice):
    viewer = Viewer(store, "")
    FollowPages(store, "followers").page(viewer, "alice", None)
    assert viewer.user == Visitor()


@pytest.mark.parametrize("side", ["followers", "following"])
def test_each_row_has_the_bio_and_a_button_for_the_viewer(browser, raw, store, alice, bob, side):
    for me, them in ((1, 2), (2, 1)):
        Follows(store).follow(me, them)
    raw.hset("user:2", "bio", "Bakes <bread>")
    page = browser(alice).get(f"/@Alice/{side}/").content.decode()
    assert '<p class="bio" dir="auto">Bakes &lt;bread&gt;</p>' in page
    assert 'aria-label="Following. Unfollow bob"><span>Following</span><span>Unfollow</span></button>' in page
    assert 'class="follow"' not in browser().get(f"/@Alice/{side}/").content.decode()
    assert 'class="follow"' not in browser(alice).get(f"/@bob/{side}/").content.decode()  # nobody follows themselves


def test_a_picture_leads_to_the_profile_and_is_skipped_by_keyboards_and_screen_readers(browser, store, alice, bob):
    Follows(store).follow(1, 2)
    page = browser(alice).get("/@Alice/following/").content.decode()
    assert '<a class="face" href="/@bob/" tabindex="-1" aria-hidden="true"><span class="avatar ' in page
