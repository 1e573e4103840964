"""/explore/: tags of the week, posts of the day, people to follow."""

import time

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import State, User
from retwis_site.jobs.worker import drain
from retwis_site.store import snowflake
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import names, post_ids, text_of
from tests.support.people import register
from tests.support.stored_posts import DAY, HOUR, like, repost, write_recent
from timeline.explore import exploring
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows


def test_the_page_shows_posts_tags_and_people(browser, raw, store, alice, bob, carol):
    for pid, uid in enumerate((1, 2, 3), 1):
        write_recent(raw, pid, uid, body="Rye #Bread")
    like(raw, 1, 2, 3)
    repost(raw, 3, 1, 2, 4)
    Follows(store).follow(1, 3)
    page = browser().get("/explore/")
    assert page.status_code == 200
    assert post_ids(page) == [3, 1]
    text = text_of(page)
    assert "#Bread 3 people · 3 posts" in text
    assert "Posts of the day" in text
    assert names(page)[-1] == "carol"  # the only person with followers
    assert 'href="/tags/bread/"' in page.content.decode()


def test_a_visitor_gets_no_buttons(browser, raw, store, alice, bob):
    write_recent(raw, 1)
    like(raw, 1, 2, 3)
    Follows(store).follow(1, 2)
    page = browser().get("/explore/").content.decode()
    assert "/@bob/" in page
    assert 'method="post"' not in page


def test_a_user_may_follow_the_people_and_act_on_the_posts(browser, raw, store, alice, bob, carol):
    write_recent(raw, 1, uid=2)
    like(raw, 1, 1, 3)
    Follows(store).follow(2, 3)
    page = browser(alice).get("/explore/").content.decode()
    assert 'action="/@carol/follow/"' in page
    assert 'formaction="/@bob/1/unlike/"' in page


@pytest.mark.parametrize("who", ["a visitor", "alice"])
def test_an_empty_site_says_what_will_appear(browser, alice, who):
    text = text_of((browser(alice) if who == "alice" else browser()).get("/explore/"))
    assert "Tags that at least three people use in a week appear here." in text
    assert "Posts that at least two people like or repost appear here." in text


def test_a_quiet_day_shows_the_week(browser, raw, alice):
    write_recent(raw, 1, ago=2 * DAY)
    like(raw, 1, 2, 3)
    page = browser().get("/explore/")
    assert post_ids(page) == [1]
    assert "Posts of the week" in text_of(page)


def test_at_most_twenty_posts_are_shown(browser, raw, alice):
    for pid in range(1, 31):
        write_recent(raw, pid)
        like(raw, pid, 2, 3)
    assert len(post_ids(browser().get("/explore/"))) == exploring.MOST_SHOWN == 20


def test_a_post_that_is_deleted_after_it_was_found_is_not_shown(client, raw, store, alice, bob):
    for pid, uid in ((1, 1), (2, 2), (3, 2)):
        write_recent(raw, pid, uid)
        like(raw, pid, 3, 4)
    assert post_ids(client.get("/explore/")) == [3, 2, 1]
    Posts(store).delete(1, 1)
    assert post_ids(client.get("/explore/")) == [3, 2]
    AccountDeletion(store).delete(User(2, "bob"), bob.secret)
    assert post_ids(client.get("/explore/")) == []


def test_a_process_looks_anew_every_five_minutes(client, raw, alice, monkeypatch):
    write_recent(raw, 1)
    like(raw, 1, 2, 3)
    assert post_ids(client.get("/explore/")) == [1]
    write_recent(raw, 2)
    like(raw, 2, 2, 3, 4)
    raw.delete("timeline")
    assert post_ids(client.get("/explore/")) == [1]
    Memory.clear_all()
    assert post_ids(client.get("/explore/")) == [2, 1]


def test_explore_writes_nothing(raw, member, bob, round_trips):
    write_recent(raw, 1, ago=HOUR, body="#bread")
    like(raw, 1, 2, 3)
    member.get("/timeline/")  # which makes the list of everyone's posts
    Memory.clear_all()
    recorded = round_trips(lambda: member.get("/explore/"))
    written = {command[0] for command in recorded.commands} & {"SET", "ZADD", "HSET", "RPUSH", "LPUSH", "EXPIRE"}
    assert written == set()


def test_every_page_leads_there(browser, alice):
    for client in (browser(), browser(alice)):
        assert client.get("/people/").content.decode().count('href="/explore/"') == 2


# ---- The posts of the day: different people who like or repost a post, weighed by its age.


def best(store):
    return exploring.best_posts(store, exploring.sample(store), time.time())


def test_each_person_counts_once_whatever_they_do(store, raw, alice, bob, carol):
    for pid in (1, 2, 3):
        write_recent(raw, pid)
    like(raw, 1, 2, 3)
    repost(raw, 1, 2, 3)
    like(raw, 2, 2, 3, 4)
    like(raw, 3, 2)
    repost(raw, 3, 2)
    assert best(store).pids == (2, 1)


def test_the_author_does_not_count(store, raw, alice, bob):
    write_recent(raw, 1, uid=1)
    like(raw, 1, 1, 2)
    repost(raw, 1, 1)
    assert best(store).pids == ()


@pytest.mark.parametrize("state", [State.HIDDEN, State.SUSPENDED])
def test_people_whom_staff_has_hidden_do_not_count(store, raw, alice, bob, carol, state):
    """The numbers below a post leave them out, too. Sellers of likes would lift posts after they were suspended."""
    for uid in range(4, 9):
        register(store, f"user{uid}")
    for pid, uids in ((1, range(3, 9)), (2, (2, 3, 4))):
        write_recent(raw, pid)
        like(raw, pid, *uids)
        repost(raw, pid, *uids)
    assert best(store).pids == (1, 2)
    for uid in range(5, 9):
        Sanctions(store).impose(uid, state, "bought")
    drain(store, "worker")
    assert raw.hmget("post:1", "likes", "reposts") == ["2", "2"]
    assert best(store).pids == (2, 1)


def test_an_older_post_needs_more_people(store, raw, alice):
    write_recent(raw, 1, ago=6 * HOUR)
    write_recent(raw, 2)
    like(raw, 1, *range(2, 17))
    like(raw, 2, 2, 3)
    assert best(store).pids == (2, 1)
    like(raw, 1, 17, 18, 19)
    assert best(store).pids == (1, 2)


@pytest.mark.parametrize(("hours", "people"), [(0, 2), (6, 16), (23, 88.4)])
def test_the_weight_is_people_by_hours_and_two_to_the_power_of_one_and_a_half(hours, people):
    assert exploring.weight(people, hours * HOUR) == pytest.approx(2 / 2**1.5, rel=0.001)


def test_a_clock_that_is_ahead_gives_a_post_no_more_than_a_new_one():
    assert exploring.weight(2, -DAY) == exploring.weight(2, 0)


def test_a_post_that_a_clock_far_ahead_has_dated_is_not_new_for_years(store, raw, alice):
    for pid, ago in ((1, 2 * HOUR), (2, -30), (3, -300 * DAY)):
        write_recent(raw, pid, ago=ago)
        like(raw, pid, 2, 3)
    assert best(store) == exploring.Best((2, 1), of_the_week=False)


def test_posts_of_yesterday_stand_there_only_when_the_day_has_none(store, raw, alice):
    write_recent(raw, 1, ago=8 * DAY)
    write_recent(raw, 2, ago=2 * DAY)
    write_recent(raw, 3)
    for pid in (1, 2):
        like(raw, pid, 2, 3)
    assert best(store) == exploring.Best((2,), of_the_week=True)
    like(raw, 3, 2, 3)
    assert best(store) == exploring.Best((3,), of_the_week=False)


def test_deleted_posts_and_reposts_are_left_out(store, raw, alice, bob):
    for pid in (1, 2, 3):
        write_recent(raw, pid)
        like(raw, pid, 2, 3)
    raw.hset("post:1", "deleted", 5)
    raw.hset("post:2", "repost_of", 3)
    assert best(store).pids == (3,)


@pytest.mark.parametrize("state", ["hidden", "suspended"])
def test_posts_of_people_whom_staff_has_hidden_are_left_out(store, raw, state):
    """They take no place from others, and what these people like leads to nothing."""
    for pid in (1, 2, 3):
        write_recent(raw, pid, uid=pid)
        like(raw, pid, 4, 5)
    raw.rpush("timeline", 3, 2, "-2")
    like(raw, 1, 3)
    assert {post.pid for post in exploring.sample(store)} == {1, 2, 3}
    Memory.clear_all()
    raw.hset("user:3", "state", state)
    assert {post.pid for post in exploring.sample(store)} == {2}
    assert best(store).pids == (2,)


def test_a_post_behind_the_newest_is_found_through_what_active_people_did(store, raw, alice, bob, monkeypatch):
    write_recent(raw, 1, uid=1)
    like(raw, 1, 2, 3)
    write_recent(raw, 2, uid=2)
    raw.rpush("timeline", 2, "-2")
    assert {post.pid for post in exploring.sample(store)} == {1, 2}
    assert best(store).pids == (1,)
    monkeypatch.setattr("timeline.explore.exploring.PEOPLE", 0)
    assert {post.pid for post in exploring.sample(store)} == {2}


def test_few_posts_of_many_are_counted(store, raw, alice, round_trips):
    for pid in range(1, exploring.MOST_POSTS + 11):
        write_recent(raw, pid)
        like(raw, pid, 2, 3)
    posts = exploring.sample(store)
    recorded = round_trips(lambda: exploring.best_posts(store, posts, time.time()))
    assert len(recorded.round_trips) == 1
    assert len(recorded.commands) == 4 * exploring.MOST_POSTS
    assert {command[-1] for command in recorded.commands} == {exploring.MOST_COUNTED - 1}


def test_a_sample_costs_a_limited_number_of_commands(store, raw, alice, monkeypatch, round_trips):
    assert exploring.PEOPLE * 2 * exploring.LATEST_OF_EACH < 20_000
    assert exploring.MOST_ACTED_ON == 1000
    for pid in range(1, 31):
        write_recent(raw, pid, uid=pid)
        like(raw, pid, *range(1, 31))
    raw.rpush("timeline", *range(30, 20, -1), "-21")
    for name, number in (("PEOPLE", 5), ("LATEST_OF_EACH", 8), ("MOST_ACTED_ON", 4)):
        monkeypatch.setattr(f"timeline.explore.exploring.{name}", number)
    recorded = round_trips(lambda: exploring.sample(store))
    assert [len(one.commands) for one in recorded.round_trips] == [1, 10, 10, 2 * 5, 4, 4]
    assert {command[-1] for command in recorded.commands if command[0] == "ZREVRANGE"} == {7}


# ---- The tags of the week: different people who use a tag, compared with the weeks before.


@pytest.fixture(params=["incr", "snowflake", "changed"])
def write(request, raw, settings, alice):
    """Writes posts, the oldest first, with counted ids or with ids from the time, or on a site that has changed to
    these two hours ago."""
    settings.POST_IDS = "incr" if request.param == "incr" else "snowflake"

    def write_one(uid, ago, body):
        counted = int(raw.get("next_post_id") or 0)
        if request.param == "incr" or (request.param == "changed" and ago > 2 * HOUR):
            pid = counted = counted + 1
        else:
            pid = snowflake.Snowflakes(0, lambda: time.time() - ago).make()
            while raw.exists(f"post:{pid}"):  # two of one moment
                pid += 1
            raw.zadd("recent", {pid: pid})
        write_recent(raw, pid, uid, ago, body)
        raw.set("next_post_id", counted)  # else the list would look for a million counted posts below an id of the time

    return write_one


def rising(store):
    return exploring.rising_tags(store, exploring.sample(store), time.time())


def shown(store):
    return [(one.tag.spelling, one.people, one.posts) for one in rising(store)]


def test_three_different_people_make_a_tag_of_the_week(store, write):
    for uid in (1, 2, 3):
        write(uid, HOUR, "#Bread")
    write(1, HOUR, "#Bread again")
    for uid in (1, 2, 2, 2, 2):
        write(uid, HOUR, "#cheese")
    assert shown(store) == [("Bread", 3, 4)]


def test_a_post_of_eight_days_ago_is_of_another_week(store, write):
    write(1, 8 * DAY, "#bread")
    for uid in (2, 3):
        write(uid, HOUR, "#bread")
    assert shown(store) == []
    write(4, HOUR, "#bread")
    assert shown(store) == [("bread", 3, 3)]


def test_posts_that_a_clock_far_ahead_has_dated_make_no_tag_of_the_week(store, raw, alice):
    for uid in (1, 2, 3):
        write_recent(raw, uid, uid, -300 * DAY, "#bread")
        raw.set("next_post_id", uid)
    assert shown(store) == []


@pytest.mark.parametrize(
    ("now", "new", "expected"),
    [(10, 4, [("new", 4, 4), ("often", 10, 10)]), (30, 3, [("often", 30, 30), ("new", 3, 3)])],
    ids=["four new people, as many as always", "three new people, a rise from ten to thirty"],
)
def test_a_tag_that_rises_comes_before_one_that_many_always_use(store, write, now, new, expected):
    for week in (4, 3, 2, 1):
        for uid in range(10, 20):
            write(uid, week * 7 * DAY + DAY, "#often")
    for uid in range(10, 10 + now):
        write(uid, HOUR, "#often")
    for uid in range(1, new + 1):
        write(uid, HOUR, "#new")
    assert shown(store) == expected


def test_of_many_posts_the_newest_are_read_and_there_may_be_more_people(store, write, monkeypatch):
    monkeypatch.setattr(exploring, "READ_OF_A_WEEK", 4)
    for uid in range(1, 7):
        write(uid, HOUR, "#bread")
    [tag] = rising(store)
    assert (tag.people, tag.all_counted, tag.posts) == (4, False, 6)


@pytest.mark.parametrize("state", ["hidden", "suspended"])
def test_people_whom_staff_has_hidden_are_not_counted(store, raw, write, state):
    for uid in (1, 2, 3, 4, 4):
        write(uid, HOUR, "#bread")
    assert shown(store) == [("bread", 4, 5)]
    Memory.clear_all()
    raw.hset("user:4", "state", state)
    [tag] = rising(store)
    assert (tag.people, tag.all_counted, tag.posts) == (3, True, 3)
    Memory.clear_all()
    raw.hset("user:3", "state", state)
    assert shown(store) == []


def test_no_more_tags_are_compared_and_shown_than_the_bounds_say(store, write, round_trips):
    for number in range(exploring.COMPARED + 5):
        for uid in (1, 2, 3):
            write(uid, HOUR, f"#tag_{number}")
    posts = exploring.sample(store)
    assert len(exploring.rising_tags(store, posts, time.time())) == exploring.MOST_TAGS
    recorded = round_trips(lambda: exploring.rising_tags(store, posts, time.time()))
    assert sum(command[0] == "ZCOUNT" for command in recorded.commands) == 2 * 5 * exploring.COMPARED
    assert sum(command[0] == "ZREVRANGEBYSCORE" for command in recorded.commands) == 5 * exploring.COMPARED


def test_without_tags_nothing_is_asked(store, write, round_trips):
    write(1, 0, "no tag")
    posts = exploring.sample(store)
    assert round_trips(lambda: exploring.rising_tags(store, posts, time.time())).round_trips == []
