"""Following and unfollowing: the truth, its mirror, and the home that is dropped."""

import re
import time

from timeline.repositories.follows import Follows


def test_following_writes_both_sides_with_the_same_date(browser, alice, bob, raw):
    before = int(time.time())
    response = browser(alice).post("/@bob/follow/", follow=True)
    assert response.redirect_chain == [("/@bob/", 302)]
    assert "You follow bob now" in response.content.decode()
    [(them, since)] = raw.zrange("following:1", 0, -1, withscores=True)
    assert them == "2"
    assert before <= since <= time.time()
    assert raw.zrange("followers:2", 0, -1, withscores=True) == [("1", since)]
    assert raw.zcard("outbox") == 0


def test_the_commands_go_out_in_the_order_of_the_protocol(store, alice, bob, sent):
    sent.trips.clear()
    Follows(store).follow(1, 2)
    Follows(store).unfollow(1, 2)
    around = [("ZADD", "outbox")], [("ZSCORE", "following:1"), ("UNLINK", "posts:1"), ("ZREM", "outbox")]
    assert [(c[0], c[1]) for c in sent.commands] == [
        *around[0],
        ("ZADD", "following:1"),
        ("ZSCORE", "following:1"),
        ("ZADD", "followers:2"),
        *around[1],
        *around[0],
        ("ZREM", "following:1"),
        ("ZSCORE", "following:1"),
        ("ZREM", "followers:2"),
        *around[1],
    ]


def test_following_twice_changes_nothing(browser, alice, bob, raw):
    raw.zadd("following:1", {"2": 1000})
    raw.zadd("followers:2", {"1": 1000})
    assert browser(alice).post("/@bob/follow/").status_code == 302
    assert raw.zscore("following:1", "2") == 1000
    assert raw.zscore("followers:2", "1") == 1000


def test_unfollowing_takes_both_sides_away(browser, alice, bob, raw):
    client = browser(alice)
    client.post("/@bob/follow/")
    response = client.post("/@bob/unfollow/", follow=True)
    assert "You no longer follow bob" in response.content.decode()
    assert not raw.exists("following:1")
    assert not raw.exists("followers:2")


def test_unfollowing_somebody_one_does_not_follow_is_harmless(browser, alice, bob, raw):
    assert browser(alice).post("/@bob/unfollow/").status_code == 302
    assert raw.zcard("outbox") == 0


def test_nobody_follows_themselves(browser, alice, raw):
    response = browser(alice).post("/@alice/follow/", follow=True)
    assert "You cannot follow yourself" in response.content.decode()
    assert not raw.exists("following:1")


def test_nobody_follows_an_unknown_user(browser, alice, raw):
    assert browser(alice).post("/@nobody/follow/").status_code == 404
    assert raw.zcard("outbox") == 0


def test_a_follow_brings_the_older_posts_and_an_unfollow_takes_them(browser, alice, bob):
    reader, writer = browser(alice), browser(bob)
    writer.post("/post/", {"body": "written before the follow", "token": "t"})
    assert b"written before" not in reader.get("/").content
    reader.post("/@bob/follow/")
    assert b"written before" in reader.get("/").content
    reader.post("/@bob/unfollow/")
    assert b"written before" not in reader.get("/").content


def test_the_mirror_follows_the_truth_when_they_disagree(store, alice, bob, raw):
    raw.zadd("followers:2", {"1": 5})  # a phantom
    Follows(store).finish_follow("follow:1:2:x")
    assert not raw.exists("followers:2")
    raw.zadd("following:1", {"2": 7})  # not mirrored
    Follows(store).finish_follow("follow:1:2:x")
    assert raw.zscore("followers:2", "1") == 7


# ---- without leaving the page


def form_of(page, uid):
    """The form on a profile, whole."""
    [form] = re.findall(rf'<form class="follow" id="follow-{uid}".*?</form>', page, re.DOTALL)
    return form


def test_the_profile_that_answers_has_all_that_a_script_takes_from_it(browser, alice, bob):
    """The new button, under the id of the old one so that the focus stays on it; the counts; and what happened."""
    client = browser(alice)
    for verb, other, followers, said in (
        ("follow", "unfollow", 1, "You follow bob now."),
        ("unfollow", "follow", 0, "You no longer follow bob."),
    ):
        form = form_of(client.get("/@bob/").content.decode(), 2)
        assert f'method="post" action="/@bob/{verb}/" hx-post="/@bob/{verb}/"' in form
        assert 'hx-select="#follow-2" hx-swap="outerHTML ignoreTitle:true"' in form
        assert f'id="follow-2-button" type="submit" aria-label="{verb.capitalize()} bob"' in form
        page = client.post(f"/@bob/{verb}/", headers={"hx-request": "true"}, follow=True).content.decode()
        assert f'hx-post="/@bob/{other}/"' in form_of(page, 2)
        assert 'id="follow-2-button"' in form_of(page, 2)
        [counts] = re.findall(r'<ul class="counts" id="counts-2">.*?</ul>', page, re.DOTALL)
        assert f"<strong>{followers}</strong> follower" in counts
        [messages] = re.findall(r'<div class="messages wrap" id="messages" role="status">(.*?)</div>', page, re.DOTALL)
        assert said in messages
        assert 'hx-select-oob="#counts-2, #messages:innerHTML"' in page


def test_the_form_is_the_same_wherever_it_stands(browser, alice, bob):
    """A list of people has it too; what stands there after a click comes from the profile."""
    page = browser(alice).get("/@bob/").content.decode()
    assert "counts" not in form_of(page, 2)
    assert "select-oob" not in form_of(page, 2)


def test_the_place_for_messages_is_on_every_page_and_empty_without_one(browser, alice, bob):
    for client in (browser(), browser(alice)):
        for url in ("/", "/timeline/", "/@bob/", "/nothing/", "/?before=x"):
            page = client.get(url).content.decode()
            assert re.findall(r'<div class="messages wrap" id="messages" role="status">\s*</div>', page), url


def test_what_a_visitor_may_not_do_leads_to_the_login_and_back_with_a_script_too(browser, alice, bob, raw):
    client = browser(alice)
    form = {"hx-request": "true", "referer": "http://testserver/@bob/"}
    del client.cookies["auth"]
    response = client.post("/@bob/follow/", headers=form, follow=True)
    assert response.redirect_chain == [("/login/?next=%2F%40bob%2F", 302)]
    assert "follow-2" not in response.content.decode()
    assert not raw.exists("following:1")


def test_visitors_pages_have_no_form(browser, bob):
    assert "<form" not in browser().get("/@bob/").content.decode()
