"""The global timeline: everyone's newest posts, rebuilt from the posts themselves."""

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.command_output import doctor
from tests.support.http.page_text import page_of, post_ids, with_older
from tests.support.people import register
from tests.support.stored_posts import write_posts, write_recent
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


def shown(client, url="/timeline/"):
    return post_ids(client.get(url))


def test_it_shows_the_newest_twenty_posts_and_ten_users(browser, store, raw):
    for number in range(12):
        register(store, f"person{number}")
        raw.zadd("users_by_time", {f"person{number}": 1_700_000_000 + number})
    write_posts(raw, 1, range(1, 61))
    answer = browser().get("/timeline/")
    page = answer.content.decode()
    assert post_ids(answer) == list(range(60, 40, -1))
    assert "?before=41" in page
    assert [f"/@person{number}/" in page for number in (1, 2, 11)] == [False, True, True]


def test_later_pages_end_at_the_beginning(client, store, alice, raw):
    write_posts(raw, 1, range(1, 61))
    assert shown(client, "/timeline/?before=11") == list(range(10, 0, -1))
    assert "?before=" not in client.get("/timeline/?before=11").content.decode()


def test_it_is_rebuilt_from_existing_posts(browser, alice, bob, raw):
    write_posts(raw, 1, [1, 2, 3, 4])
    raw.zrem("updates:1", 2)  # its request was killed before the commit
    raw.hset("post:3", mapping={"deleted": 5, "body": ""})
    assert shown(browser()) == [4, 1]
    token, *rest = raw.lrange("timeline", 0, -1)
    assert rest == ["0", f"{token}:", "4", "1"]


def test_a_push_to_a_missing_list_does_not_make_it_complete(browser, store, alice, raw):
    write_posts(raw, 1, [1, 2, 3])
    raw.delete("timeline")
    Posts(store).publish(1, NewPost("new"), "t")
    assert raw.lrange("timeline", 0, -1) == ["4"]
    assert shown(browser()) == [4, 3, 2, 1]


def test_with_many_deleted_posts_a_rebuild_reads_lower_ids(browser, alice, raw):
    write_posts(raw, 1, range(1, 6))
    raw.set("next_post_id", 2500)
    assert shown(browser()) == [5, 4, 3, 2, 1]


def test_the_last_page_says_that_older_posts_are_not_kept(browser, alice, raw):
    write_posts(raw, 1, range(1, 1201))
    pages = [*with_older(browser(), "/timeline/")]
    seen = [pid for page in pages for pid in post_ids(page)]
    assert seen[:200] == list(range(1200, 1000, -1))
    assert 750 <= len(seen) <= 1000
    assert seen == list(range(1200, 1200 - len(seen), -1))
    assert "This list ends here." in page_of(pages[-1])


def test_beside_the_welcome_page_stand_rules_and_tags(browser, alice, raw):
    """The tags of the week when this process knows them, else those of the newest posts."""

    def beside(tags):
        """The text, and how often each of these tags is linked."""
        beside = browser().get("/").content.decode().partition('<div class="beside">')[2]
        return beside, [beside.count(f'<a href="/tags/{tag.lower()}/">#{tag}</a>') for tag in tags]

    for pid, body in ((1, "#tea"), (2, "#Redis and #tea"), (3, "more #redis"), (4, "no tag, #REDIS")):
        write_recent(raw, pid, body=body)
    text, tags = beside(["REDIS", "Redis", "tea", "week"])
    assert tags == [1, 0, 1, 0]
    assert text.index("#REDIS") < text.index("#tea")
    assert "Be kind, and respect the law." in text
    raw.hset("site", "rules", "\n".join(f"Rule number {number}" for number in range(1, 8)))
    for uid in (2, 3, 4):
        write_recent(raw, 10 + uid, uid, body="#week")
    raw.delete("timeline")  # it is rebuilt, with these posts
    Memory.clear_all()
    browser().get("/explore/")
    text, tags = beside(["REDIS", "tea", "week"])
    assert tags == [0, 0, 1]
    assert [f"Rule number {number}<" in text for number in (1, 5, 6)] == [True, True, False]


def test_the_welcome_page_shows_the_newest_posts_and_links_to_log_in(browser, alice, raw):
    write_posts(raw, 1, range(1, 31))
    answer = browser().get("/")
    page = answer.content.decode()
    assert post_ids(answer) == list(range(30, 10, -1))
    assert "/register/" in page
    assert "/login/" in page


def test_pages_without_posts_are_shown(browser):
    assert browser().get("/").status_code == 200
    assert browser().get("/timeline/").status_code == 200


@pytest.mark.parametrize("deleted", [121, 161, 300])
def test_when_the_newest_posts_are_deleted_older_ones_are_shown(client, alice, raw, deleted):
    write_posts(raw, 1, range(1, 801))
    client.get("/timeline/")
    for pid in range(801 - deleted, 801):
        raw.hset(f"post:{pid}", mapping={"deleted": 5, "body": ""})
    Memory.clear_all()  # five seconds pass
    answer = client.get("/timeline/")
    page = answer.content.decode()
    assert "No posts yet." not in page
    assert "This is as far back" not in page
    if deleted < 300:
        assert post_ids(answer) == list(range(800 - deleted, 780 - deleted, -1))
    assert shown(client) == list(range(800 - deleted, 780 - deleted, -1))


def test_a_page_that_the_head_of_the_list_just_fills_has_a_next_page(browser, store, alice, raw):
    """The head has 150 ids. 130 of them are deleted, so 20 posts are left."""
    write_posts(raw, 1, range(1, 301))
    shown(browser())
    for pid in range(151, 281):
        Posts(store).delete(1, pid)
    answer = browser().get("/timeline/")
    assert post_ids(answer) == list(range(300, 280, -1))
    assert "?before=281" in answer.content.decode()
    assert shown(browser(), "/timeline/?before=281") == list(range(150, 130, -1))


# ---- It has no reposts: neither a rebuilt list has them, nor does `doctor` miss them there.


@pytest.fixture(params=["incr", "snowflake"])
def alices_post(request, store, settings, alice, bob):
    settings.POST_IDS = request.param
    return Posts(store).publish(1, NewPost("Hello"), "1").pid


def test_doctor_misses_no_repost_in_a_complete_list(store, browser, capsys, alices_post):
    shown(browser())
    Reposts(store).repost(2, alices_post, 1)
    Posts(store).publish(1, NewPost("again"), "2")
    assert doctor(capsys) == (0, {}, {})


def test_a_rebuilt_list_has_no_repost(store, raw, browser, capsys, alices_post):
    Reposts(store).repost(2, alices_post, 1)
    raw.delete("timeline")
    shown(browser())
    assert [one for one in raw.lrange("timeline", 0, -1) if one.isdigit() and int(one) > 0] == [str(alices_post)]
    assert doctor(capsys) == (0, {}, {})
