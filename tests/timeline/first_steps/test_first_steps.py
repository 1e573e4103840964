"""/first-steps/: where a new account comes first. Its profile, whom to follow, its first post; all may be left out."""

import re
from urllib.parse import quote

import pytest
import redis

from tests.support.http.page_text import page_of, text_of
from tests.support.people import PASSWORD
from tests.support.stored_posts import write_recent
from tests.support.stores.seam import broken_store
from timeline.relations.relations import BlockedPeople, Follows

URL = "/first-steps/"


def test_from_registering_to_the_recovery_codes(client, raw, store, alice, bob, carol):
    for pid, uid in enumerate((1, 2, 3), 1):
        write_recent(raw, pid, uid, body="Rye #Bread")
    raw.set("next_post_id", "3")
    raw.hset("tags", "bread", "Bread")
    Follows(store).follow(1, 2)
    registered = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
    page = client.post("/register/", registered, follow=True)
    assert page.redirect_chain == [(URL, 302)]
    html = page.content.decode()
    assert 'value="#bread"' in html
    assert 'value="@bob"' in html
    assert "<h2>2. Tags and people to follow</h2>" in html
    assert 'value="@Dora"' not in html
    assert '<a href="/">Skip</a>' in html
    assert "/settings/recovery/" not in html  # a link would leave behind what was typed; the form leads there
    chosen = ["#bread", "#nobody_wrote_this", "@bob", "@nobody", "@Dora", "@not a name", "bob"]
    token = re.search(r'name="token" value="([^"]+)"', html)[1]
    given = {"name": "Dora D.", "bio": "I bake.", "follow": chosen, "body": "Hello #bread", "token": token}
    for _ in range(2):  # the second click
        assert client.post(URL, given).headers["Location"] == "/settings/recovery/"
    assert raw.hmget("user:4", "name", "bio") == ["Dora D.", "I bake."]
    assert raw.zrange("following:4", 0, -1) == ["2"]
    assert raw.zrange("tags_of:4", 0, -1) == ["bread"]
    assert raw.zrange("updates:4", 0, -1) == ["4"]
    assert raw.hget("post:4", "body") == "Hello #bread"
    assert 'value="#bread"' not in client.get(URL).content.decode()
    changed = client.post(URL, {**given, "body": "Hello again"})
    assert changed.status_code == 422
    assert "This form was already posted." in text_of(changed)
    assert raw.zcard("updates:4") == 1
    assert 'name="password"' not in client.get("/settings/recovery/").content.decode()


def test_the_first_steps_of_one_account_are_not_taken_by_another(browser, alice, bob, raw):
    own = re.findall(r'type="hidden" name="(as)" value="(.*?)"', page_of(browser(alice).get(URL)))
    given = {**dict(own), "name": "Alice L.", "follow": ["@alice"], "body": "My first post"}
    text = page_of(browser(bob).post(URL, given), 422)
    assert "filled in for another account. You are logged in as @bob." in text
    assert "My first post</textarea>" in text
    assert raw.hget("user:2", "name") is None
    assert raw.keys("updates:*") + raw.keys("following:*") == []


def test_who_registers_from_a_page_comes_back_to_it_at_last(browser, bob):
    dora, after = browser(), "?next=%2F%40bob%2F"
    assert f'<a href="/register/{after}">' in page_of(dora.get("/login/?next=/%40bob/"))
    page = page_of(dora.get(f"/register/{after}"))
    assert f'<a href="/login/{after}">' in page
    assert '<input type="hidden" name="next" value="/@bob/">' in page
    given = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD, "next": "/@bob/"}
    assert 'name="next" value="/@bob/"' in page_of(dora.post("/register/", {**given, "username": "no name"}), 422)
    assert dora.post("/register/", given)["Location"] == f"{URL}{after}"
    page = page_of(dora.get(f"{URL}{after}"))
    assert '<a href="/@bob/">Skip</a>' in page
    assert dora.post(URL, {"name": "D", "next": "/@bob/"})["Location"] == f"/settings/recovery/{after}"
    assert '<a href="/@bob/">Skip this for now</a>' in page_of(dora.get(f"/settings/recovery/{after}"))
    assert 'href="/@bob/">I have kept them<' in page_of(dora.post("/settings/recovery/", {"next": "/@bob/"}))
    assert dora.get(f"/register/{after}")["Location"] == "/@bob/"


def test_the_links_above_the_login_and_the_registration_forget_no_page(browser):
    after = "?next=%2F%40bob%2F"
    for page in ("/login/", "/register/"):
        for answer in (browser().get(f"{page}{after}"), browser().post(page, {"next": "/@bob/"})):
            for to in ("login", "register"):
                assert f'class="to-{to}" href="/{to}/{after}"' in answer.content.decode()
    assert 'class="to-register" href="/register/"' in page_of(browser().get("/login/"))


PLACES = {"/@bob/": True, "/@bob/1/": True, "/tags/tea/": True, "/about/": False, "/invited/x/": False, "/no/": False}


@pytest.mark.parametrize(("came_from", "is_kept"), PLACES.items())
@pytest.mark.parametrize(("chosen", "other"), [("/register/", "/login/"), ("/login/", "/register/")])
def test_who_joins_from_a_person_a_post_or_a_tag_comes_back_to_it_at_last(browser, chosen, other, came_from, is_kept):
    page = page_of(browser().get(chosen, headers={"referer": f"http://testserver{came_from}"}))
    assert f'name="next" value="{came_from if is_kept else "/"}"' in page
    after = f"?next={quote(came_from, safe='')}" if is_kept else ""
    assert f'<a href="{other}{after}">' in page


@pytest.mark.parametrize("address", ["https://bad.example/", "//bad.example/", "javascript:alert(1)"])
def test_no_page_of_another_site_comes_after_registering(browser, address):
    given = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD, "next": address}
    dora = browser()
    assert dora.post("/register/", given)["Location"] == URL
    assert '<a href="/">Skip</a>' in page_of(dora.get(URL, {"next": address}))
    assert '<a href="/">Skip this for now</a>' in page_of(dora.get("/settings/recovery/", {"next": address}))


def test_who_chooses_tags_alone_is_led_to_their_posts_from_an_empty_home(member, raw, bob):
    write_recent(raw, 1, 2, body="Rye #Bread")
    raw.hset("tags", "bread", "Bread")
    member.post(URL, {"follow": ["#bread"]})
    home = page_of(member.get("/"))
    assert "Nothing here yet. Follow someone." in home
    assert '<a class="button quiet" href="/tags/">Posts with tags you follow</a>' in home
    assert "Rye" in page_of(member.get("/tags/"))


def test_an_empty_form_changes_nothing(browser, raw, alice):
    before = {key: raw.dump(key) for key in raw.keys("*")}
    assert browser(alice).post(URL, {}).headers["Location"] == "/settings/recovery/"
    assert {key: raw.dump(key) for key in raw.keys("*")} == before


def test_a_form_with_errors_comes_back_with_what_was_typed_and_nothing_is_done(browser, raw, alice, bob):
    given = {"name": "A" * 51, "bio": "b" * 161, "body": "c" * 281, "follow": ["@bob"], "token": "t"}
    html = page_of(browser(alice).post(URL, given), 422)
    for text in ("A" * 51, "b" * 161, "c" * 281, 'value="@bob" checked'):
        assert text in html
    assert html.count("1 character too many.") == 3
    assert not raw.exists("following:1", "updates:1")
    assert not raw.hexists("user:1", "bio")


def test_nobody_follows_a_person_with_a_block_between_them(browser, raw, store, alice, bob, carol):
    BlockedPeople(store).block(1, 2)
    BlockedPeople(store).block(3, 1)
    browser(alice).post(URL, {"follow": ["@bob", "@carol"]})
    assert not raw.exists("following:1", "followers:2", "followers:3")


def test_an_outage_keeps_what_was_typed_and_chosen(member, bob):
    with broken_store(redis.ConnectionError()):
        page = member.post(URL, {"name": "Ann", "body": "Hello", "follow": ["@bob", "#bread"]})
    assert page.status_code == 503
    html = page.content.decode()
    for kept in ('value="Ann"', "Hello</textarea>", 'value="@bob"', 'value="#bread"'):
        assert kept in html


def offered(client):
    return re.findall(r'name="follow" value="@(\w+)"', client.get(URL).content.decode())


def test_people_are_offered_with_the_beginning_of_their_profile(member, raw, bob, carol):
    raw.zadd("users_by_followers", {"2": 2, "3": 1})
    raw.hset("user:2", "bio", f"Bakes <bread>. {'So much of it. ' * 10}")
    [to_bob, to_carol] = re.findall(r'value="@\w+">.*?</label>', member.get(URL).content.decode())
    assert '<span class="note" dir="auto">Bakes &lt;bread&gt;. So much' in to_bob
    assert to_bob.count("So much") < 6
    assert 'class="note"' not in to_carol


def test_the_second_step_names_what_it_offers(member, raw, bob):
    raw.zadd("users_by_followers", {"2": 2})
    assert "<h2>2. People to follow</h2>" in page_of(member.get(URL))


def test_whoever_has_invited_a_person_is_offered_first(browser, raw, store, alice, bob, carol):
    for uid in range(10, 20):
        raw.hset(f"user:{uid}", mapping={"username": f"star_{uid}", "password": "hash"})
        raw.zadd("users_by_followers", {uid: 100})
    assert "bob" not in offered(browser(alice))
    raw.hset("user:1", "invited_by", "2")
    names = offered(browser(alice))
    assert (names[0], len(names)) == ("bob", 5)
    Follows(store).follow(1, 3)
    raw.zadd("following:3", {"10": 1})  # a vote for another one
    assert offered(browser(alice))[:2] == ["bob", "star_10"]
    Follows(store).follow(1, 2)
    assert "bob" not in offered(browser(alice))
    Follows(store).unfollow(1, 2)
    BlockedPeople(store).block(2, 1)
    assert "bob" not in offered(browser(alice))
    raw.hset("user:1", "invited_by", "0")  # the operator
    assert len(offered(browser(alice))) == 5
