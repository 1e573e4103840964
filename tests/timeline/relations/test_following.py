"""Following and unfollowing: both sides of an edge, the home, the ranking, and the form on a profile."""

import re
import time

import pytest

from tests.support.stored_keys import follower_counts, publish, ranking
from timeline.relations.edges import Edges
from timeline.relations.relation import RANKING, Ranking, recount
from timeline.relations.relations import FOLLOW, Follows


def test_following_writes_both_sides_with_the_same_date(browser, alice, bob, raw):
    before = int(time.time())
    response = browser(alice).post("/@bob/follow/", follow=True)
    assert response.redirect_chain == [("/@bob/", 302)]
    assert "You now follow bob" in response.content.decode()
    [(them, since)] = raw.zrange("following:1", 0, -1, withscores=True)
    assert them == "2"
    assert before <= since <= time.time()
    assert raw.zrange("followers:2", 0, -1, withscores=True) == [("1", since)]
    assert ranking(raw) == {"2": 1}
    assert raw.zcard("outbox") == 0


def test_a_follow_on_the_home_page_leads_back_to_its_posts(browser, raw, store, alice, bob):
    publish(raw, store, bob, "Hello from bob")
    client, home = browser(alice), {"referer": "http://testserver/"}
    assert "Hello from bob" not in client.get("/").content.decode()  # this empty home is kept
    assert client.post("/@bob/follow/", headers=home)["Location"] == "/"
    page = client.get("/").content.decode()
    assert "Hello from bob" in page
    assert "You now follow bob." in page
    # In place the answer is the profile, which has the button.
    assert client.post("/@bob/follow/", headers={**home, "HX-Request": "true"})["Location"] == "/@bob/"


def test_the_commands_go_out_in_the_order_of_the_protocol(store, alice, bob, sent):
    people = [("HMGET", "user:1"), ("HMGET", "user:2")]
    blocks = [("ZSCORE", "blocked:1"), ("ZSCORE", "blocked:2")]
    welcome = [("ZSCORE", "blocked:2"), ("ZSCORE", "blocked:1"), ("ZSCORE", "muted:2"), ("HMGET", "user:2")]
    seen, count = [("HMGET", "user:1"), ("ZSCORE", "following:2")], [("ZCARD", "followers:2")]
    count.append(("ZCARD", "unseen:followers:2"))
    look = [("ZSCORE", "following:1"), *people, *blocks, *welcome, *seen, *count]
    counted = [("ZREM", "unseen:followers:2"), ("ZREM", "unseen:following:1")]
    afterwards = {"follow": [], "unfollow": [[("HMGET", "user:2")]]}
    added, removed = [("ZADD", "notices:2"), ("ZREMRANGEBYRANK", "notices:2")], [("ZREM", "notices:2")]
    for verb, write, notice in (("follow", "ZADD", added), ("unfollow", "ZREM", removed)):
        sent.round_trips.clear()
        getattr(Follows(store), verb)(1, 2)
        assert [[command[:2] for command in round_trip.commands] for round_trip in sent.round_trips] == [
            [("ZADD", "outbox")],
            [(write, "following:1"), *look],
            [(write, "followers:2"), *counted, ("UNLINK", "posts:1"), *notice],
            look,
            [(write, "users_by_followers")],
            count,  # apart: on several servers the commands of one round trip have no order
            *afterwards[verb],
            [("ZREM", "outbox")],
        ]


def test_following_twice_changes_nothing(browser, alice, bob, raw):
    raw.zadd("following:1", {"2": 1000})
    raw.zadd("followers:2", {"1": 1000})
    assert browser(alice).post("/@bob/follow/").status_code == 302
    assert raw.zscore("following:1", "2") == 1000
    assert raw.zscore("followers:2", "1") == 1000


def test_unfollowing_removes_both_sides_and_the_place_in_the_ranking(member, bob, raw):
    member.post("/@bob/follow/")
    assert "You no longer follow bob" in member.post("/@bob/unfollow/", follow=True).content.decode()
    assert not raw.exists("following:1")
    assert not raw.exists("followers:2")
    assert not raw.exists("users_by_followers")


def test_unfollowing_without_a_follow_is_harmless(browser, alice, bob, raw):
    assert browser(alice).post("/@bob/unfollow/").status_code == 302
    assert not raw.exists("users_by_followers")
    assert raw.zcard("outbox") == 0


def test_the_mirror_is_made_to_match_the_truth(store, alice, bob, raw):
    raw.zadd("followers:2", {"1": 5})  # without the truth
    Edges(store, FOLLOW).finish("follow:1:2:x")
    assert not raw.exists("followers:2")
    assert not raw.exists("users_by_followers")
    raw.zadd("following:1", {"2": 7})  # without the mirror
    Edges(store, FOLLOW).finish("follow:1:2:x")
    assert raw.zscore("followers:2", "1") == 7
    assert ranking(raw) == {"2": 1}


def test_the_ranking_counts_followers_and_leaves_out_users_without_any(store, alice, bob, carol, raw):
    follows = Follows(store)
    for me, them in ((1, 2), (3, 2), (2, 1), (2, 3), (1, 2)):
        follows.follow(me, them)
    assert raw.zrevrange("users_by_followers", 0, 0) == ["2"]
    assert ranking(raw) == follower_counts(raw) == {"2": 2, "1": 1, "3": 1}
    for me, them in ((1, 2), (2, 1), (2, 1)):
        follows.unfollow(me, them)
    assert ranking(raw) == follower_counts(raw) == {"2": 1, "3": 1}


@pytest.mark.parametrize("meanwhile", [["30"], ["30", "31"], ["30", "31", "32", "33"]])
def test_a_count_that_changes_while_it_is_written_is_written_again(store, alice, bob, raw, monkeypatch, meanwhile):
    new_followers = iter(meanwhile)
    real = Ranking.queue

    def queue_place_while_another_user_follows(self, pipe, uid, count):
        real(self, pipe, uid, count)
        if follower := next(new_followers, None):
            raw.zadd("followers:2", {follower: 1})

    monkeypatch.setattr(Ranking, "queue", queue_place_while_another_user_follows)
    Follows(store).follow(1, 2)
    assert ranking(raw) == {"2": 1 + len(meanwhile)}
    assert raw.zcard("outbox") == 0


def test_many_users_are_recounted_in_three_round_trips(store, raw, round_trips):
    for uid in range(1, 40):
        raw.zadd(f"followers:{uid}", {str(other): 1 for other in range(100, 100 + uid)})
    raw.zadd("users_by_followers", {"3": 9, "40": 7, "41": 8})
    assert len(round_trips(lambda: recount(store, RANKING, range(1, 41))).round_trips) == 3
    assert ranking(raw) == follower_counts(raw) | {"41": 8}


# ---- the form, with a script


def follow_form(page, uid):
    """The HTML of the follow form on a profile."""
    [form] = re.findall(rf'<form class="follow" id="follow-{uid}".*?</form>', page, re.DOTALL)
    return form


def test_the_profile_after_a_follow_has_all_that_the_script_takes_from_it(member, bob):
    """These are the new button, with the id of the old one so that it keeps the focus; the counts; and the message."""
    for verb, other, label, followers, message in (
        ("follow", "unfollow", "Follow bob", 1, "You now follow bob."),
        ("unfollow", "follow", "Following. Unfollow bob", 0, "You no longer follow bob."),
    ):
        form = follow_form(member.get("/@bob/").content.decode(), 2)
        assert f'id="follow-2" method="post" action="/@bob/{verb}/"' in form
        assert f'id="follow-2-button" type="submit" aria-label="{label}"' in form
        page = member.post(f"/@bob/{verb}/", headers={"hx-request": "true"}, follow=True).content.decode()
        assert f'action="/@bob/{other}/"' in follow_form(page, 2)
        assert 'id="follow-2-button"' in follow_form(page, 2)
        [counts] = re.findall(r'<ul class="counts" id="counts-2">.*?</ul>', page, re.DOTALL)
        assert f"<strong>{followers}</strong> follower" in counts
        [messages] = re.findall(r'<div class="messages" id="messages" role="status">(.*?)</div>', page, re.DOTALL)
        assert message in messages


def test_every_page_has_an_element_for_messages_that_is_empty_without_any(browser, alice, bob):
    for client in (browser(), browser(alice)):
        for url in ("/", "/timeline/", "/@bob/", "/nothing/", "/?before=x"):
            page = client.get(url).content.decode()
            assert re.findall(r'<div class="messages" id="messages" role="status">\s*</div>', page), url


def test_a_follow_by_a_visitor_with_a_script_leads_to_the_login_and_back(member, bob, raw):
    form = {"hx-request": "true", "referer": "http://testserver/@bob/"}
    del member.cookies["auth"]
    response = member.post("/@bob/follow/", headers=form, follow=True)
    assert response.redirect_chain == [("/login/?next=%2F%40bob%2F", 302)]
    assert "follow-2" not in response.content.decode()
    assert not raw.exists("following:1")


def test_a_profile_shows_visitors_no_form(browser, bob):
    assert 'method="post"' not in browser().get("/@bob/").content.decode()
