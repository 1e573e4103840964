"""Whatever is searched, a page costs a bounded number of round trips, commands and posts; it says where it stopped."""

import html

import pytest
from django.conf import settings

from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import OLDER, post_ids, text_of, with_older
from tests.support.stored_posts import write_indexed
from tests.support.texts import hostile_texts
from timeline.posts.entities import Post
from timeline.relations.relations import Follows
from timeline.search import index, searching
from timeline.search.index import RANGE
from timeline.search.query import LONGEST_QUERY, KnownPeople, fits, parse, searched
from timeline.search.searching import MOST_RANGES, MOST_TERMS, NEWEST_RANGES, RAREST, READS

RANGES = MOST_RANGES + 6
GROUPS = 2  # of ranges, in which MOST_RANGES may be
MOST_COMMANDS = (NEWEST_RANGES + GROUPS) * MOST_TERMS + (MOST_RANGES - NEWEST_RANGES) * RAREST  # that read the index
OF_THE_REST = 60  # commands about the viewer, and the people and tags above the posts


def older_of(page):
    found = OLDER.search(page.content.decode())
    return html.unescape(found[1]) if found else None


def all_pages(client, query):
    return [*with_older(client, f"/search/?{query}")]


@pytest.fixture(autouse=True)
def any_machine(monkeypatch):
    """Lets a slow machine check as many posts as others."""
    monkeypatch.setattr(searching, "MOST_SECONDS", 100)


@pytest.fixture
def long_site(raw, store, alice):
    """A post in each range, all with the same two words."""
    write_indexed(raw, store, 1, {number * RANGE + 1: f"tea cup n{number}" for number in range(RANGES)})


@pytest.mark.parametrize(
    ("word", "of_older_ranges"),
    [("n9", 1), ("tea", MOST_RANGES - NEWEST_RANGES)],
    ids=["a rare word", "a word of each range: as many as a page may read"],
)
def test_a_word_is_found_in_three_round_trips_and_few_commands(long_site, browser, round_trips, word, of_older_ranges):
    browser().get("/search/?q=from:nobody+x")  # fills the caches of the process
    recorded = round_trips(lambda: browser().get(f"/search/?q={word}"))
    index = [[name for name, *_ in one.commands].count("GET") for one in recorded.round_trips]
    assert [number for number in index if number] == [NEWEST_RANGES + GROUPS, of_older_ranges]


def test_a_page_reads_no_more_ranges_and_says_so(long_site, browser, round_trips):
    recorded = round_trips(lambda: browser().get("/search/?q=tea+-cup"))
    assert len(recorded.commands) <= MOST_COMMANDS + MOST_RANGES + OF_THE_REST
    page = browser().get("/search/?q=tea+-cup")
    assert post_ids(page) == []
    assert "Older posts have not been searched yet." in text_of(page)
    assert older_of(page) == f"?q=tea+-cup&before={(RANGES - MOST_RANGES) * RANGE}"


def test_older_posts_are_found_by_searching_on(long_site, browser):
    pages = all_pages(browser(), "q=tea+n2")
    assert [post_ids(page) for page in pages] == [[], [2 * RANGE + 1]]
    assert [pid for page in all_pages(browser(), "q=tea") for pid in post_ids(page)] == [
        number * RANGE + 1 for number in reversed(range(RANGES))
    ]


def test_posts_of_a_date_below_the_ranges_of_a_page_are_found(raw, store, alice, browser, monkeypatch):
    monkeypatch.setattr(index, "RANGE", 8)
    pids = range(1, 8 * RANGES)
    write_indexed(raw, store, 1, dict.fromkeys(pids, "tea"))
    for pid in pids:
        raw.hset(f"post:{pid}", "time", 1_700_000_000 + pid * 3600)  # the first one is of 14 November 2023
    pages = all_pages(browser(), "q=tea+before:2023-11-15")
    assert [pid for page in pages for pid in post_ids(page)] == [1]


def test_a_query_of_many_terms_asks_for_few(long_site, browser, round_trips):
    words = " ".join(f"{letter}{number}" for letter in "abcdefghij" for number in range(9))
    recorded = round_trips(lambda: browser().get("/search/", {"q": words[:LONGEST_QUERY]}))
    assert len(recorded.commands) <= MOST_COMMANDS + OF_THE_REST
    assert len(recorded.round_trips) <= 8


def test_a_page_checks_no_more_posts_and_says_so(raw, store, alice, browser, round_trips):
    number = sum(READS) + 50
    write_indexed(raw, store, 1, dict.fromkeys(range(1, number + 1), "tea cup") | {7: "tea"})
    recorded = round_trips(lambda: browser().get("/search/?q=tea+-cup"))
    assert sum(name == "HMGET" for name, *_ in recorded.commands) <= sum(READS) + OF_THE_REST
    assert len(recorded.round_trips) <= 20
    pages = all_pages(browser(), "q=tea+-cup")
    assert [post_ids(page) for page in pages] == [[], [7]]
    assert "Search older posts" in text_of(pages[0])


def test_frequent_terms_are_read_in_fewer_ranges(long_site, browser, round_trips, monkeypatch):
    monkeypatch.setattr(searching, "MOST_PROPOSED", 10)
    recorded = round_trips(lambda: browser().get("/search/?q=tea+cup+-n1"))
    assert sum(name == "GET" for name, *_ in recorded.commands) <= (NEWEST_RANGES + GROUPS) * 2 + 5 * 2 + 2


def test_of_older_ranges_too_only_own_posts_are_ones_own(raw, store, alice, bob, browser):
    """Older ranges are read for the rarest terms alone: here, for the words, and not for who wrote them."""
    newest = 3 * RANGE
    write_indexed(raw, store, 1, {3: "tea cup"} | dict.fromkeys(range(newest, newest + 9), "coffee"))
    write_indexed(raw, store, bob.user.uid, {2: "tea cup"})
    assert [post_ids(browser(alice).get(f"/search/?q=tea+cup{scope}")) for scope in ("&in=mine", "")] == [[3], [3, 2]]


def test_a_scope_looks_at_so_many_posts(raw, store, alice, bob, browser):
    number = 1100
    write_indexed(raw, store, bob.user.uid, dict.fromkeys(range(1, number + 1), "tea"))
    page = browser(alice).get("/search/?q=tea&in=following")
    assert post_ids(page) == []
    assert older_of(page) == f"?q=tea&in=following&before={number - 1000 + 1}"


@pytest.mark.parametrize("scope", ["following", "saved"])
def test_no_post_is_lost_behind_the_last_that_a_page_looks_at(raw, store, alice, bob, browser, monkeypatch, scope):
    """The last look finds more posts of the scope than a page reads at first, and few of those fit the phrase."""
    monkeypatch.setitem(searching.BOUNDS, scope, (50, 50))
    texts = dict.fromkeys(range(1, 61), "cup tea") | dict.fromkeys((2, 21, 40), "tea cup")
    write_indexed(raw, store, bob.user.uid, texts)
    raw.zadd("following:1", {str(bob.user.uid): 1})
    raw.zadd("bookmarks:1", {str(pid): pid for pid in texts})
    pages = all_pages(browser(alice), f"q=%22tea+cup%22&in={scope}")
    assert [pid for page in pages for pid in post_ids(page)] == [40, 21, 2]


def test_a_page_ends_when_its_posts_take_long_to_check(raw, store, alice, browser, monkeypatch):
    write_indexed(raw, store, 1, dict.fromkeys(range(1, 101), "tea cup"))
    monkeypatch.setattr(searching, "MOST_SECONDS", 0)
    monkeypatch.setattr(searching.time, "thread_time", iter(range(1000)).__next__)
    pages = all_pages(browser(), "q=tea+-cup")
    assert len(pages) == -(-100 // READS[0])
    assert [post_ids(page) for page in pages] == [[]] * len(pages)


WORST = ["a " * 150, '"a" ' * 75, "-a " * 100, '"' + "a " * 149, "#a " * 100, "東" * 300, "東 " * 150, "from:me " * 37]


@pytest.mark.parametrize("text", ["a " * 140, "東" * 280, "#a " * 93, hostile_texts.ORDINARY.format(7)])
def test_checking_a_post_takes_few_steps(text, alice):
    """Each of the posts that a page checks. 300 ms are 400 times 750 us, in which Python does some 7,000 steps."""
    post = Post(7, alice.user, text[:280], 0)
    for typed in WORST:
        query = parse(typed[:LONGEST_QUERY].strip())
        assert steps(lambda: fits(query, KnownPeople({}, None), post)) <= 3000, typed  # noqa: B023  it is called at once


NEWEST = 450  # posts of the newest range that have all words of the worst query
WORDS = " ".join(f"alpha{letter} beta{letter}" for letter in "abcdefghijk")
WORST_QUERY = f'{WORDS} "betak alphaa" -omega after:2001-01-01'
FOLDERS = tuple(str(settings.BASE_DIR / name) for name in ("accounts", "retwis_site", "timeline"))


@pytest.fixture
def worst_site(raw, store, alice, bob):
    """More posts than a page checks, by someone whom alice follows. All have all words that are wanted, and at their
    end the word that is not; and so has a post in each older range."""
    newest = (RANGES - 1) * RANGE
    older = range(1, newest, RANGE)
    pids = [*older, *range(newest + 1, newest + NEWEST)]
    texts = {pid: f"{WORDS} betak alphaa #tag https://a.example/b n{pid} omega" for pid in pids}
    write_indexed(raw, store, bob.user.uid, texts)
    Follows(store).follow(alice.user.uid, bob.user.uid)


@pytest.mark.parametrize("scope", ["everyone", "following"])
def test_the_worst_query_is_bounded_as_a_whole(worst_site, member, round_trips, scope):
    """Nothing is found, so all is looked at that a page may look at: ranges, posts, and 64 commands for the date. No
    text is cached. In 300 ms, Python does some 2,500,000 steps."""
    query = {"q": WORST_QUERY, "in": scope}
    assert len(WORST_QUERY) <= LONGEST_QUERY
    recorded = round_trips(lambda: member.get("/search/", query))
    assert len(recorded.commands) <= MOST_COMMANDS + 2 * 64 + 4 * sum(READS) + OF_THE_REST
    assert len(recorded.round_trips) <= 40
    Memory.clear_all()
    searched.cache_clear()
    page = []
    taken = hostile_texts.lines_of(lambda: page.append(member.get("/search/", query)), FOLDERS)
    assert "Search older posts" in text_of(page[0])
    assert 200_000 < taken <= 600_000


def steps(call):
    """The lines of Python that a call runs, again: it has read the text before."""
    call()
    return hostile_texts.lines_of(call)
