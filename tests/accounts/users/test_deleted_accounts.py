"""Of an account that is deleted nothing is shown, and nobody signs in to it: the field `deleted` decides, whatever else
is still there."""

import pytest

from accounts.users.repository import Users
from retwis_site.store.local_cache import Memory
from tests.support.people import PASSWORD
from tests.support.stored_posts import write_posts
from timeline.people.suggestions import Suggestions
from timeline.relations.follow import Follows


@pytest.fixture
def gone(raw, store, alice, bob, carol):
    """Alice, whom bob follows, has posted; her account is deleted, and nothing is cleared yet."""
    Follows(store).follow(2, 1)
    Follows(store).follow(1, 2)
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [2])
    raw.hset("user:1", "deleted", 1_700_000_000)
    Memory.clear_all()


@pytest.mark.parametrize("url", ["/@Alice/", "/@alice/", "/@alice/1/", "/@alice/followers/", "/@alice/following/"])
@pytest.mark.usefixtures("gone")
def test_their_pages_are_gone(browser, bob, url):
    page = browser().get(url)
    assert page.status_code == 410
    assert "This account was deleted." in page.content.decode()
    assert browser(bob).get(url).status_code == 410


@pytest.mark.usefixtures("gone")
def test_their_posts_stand_in_no_timeline(browser, bob):
    for client, url in ((browser(), "/"), (browser(), "/timeline/"), (browser(bob), "/"), (browser(bob), "/timeline/")):
        page = client.get(url).content.decode()
        assert 'id="post-2"' in page
        assert 'id="post-1"' not in page


@pytest.mark.usefixtures("gone")
def test_they_are_in_nobodys_list_of_people(browser, store):
    assert "/@Alice/" not in browser().get("/@bob/followers/").content.decode().replace('href="/@bob/', "")
    assert "/@Alice/" not in browser().get("/@bob/following/").content.decode()
    assert [one.user.username for one in Suggestions(store).for_user(3)] == ["bob"]


@pytest.mark.usefixtures("gone")
def test_their_session_has_ended(browser, alice):
    assert "Log in" in browser(alice).get("/").content.decode()
    assert browser(alice).get("/settings/password/").status_code == 302


@pytest.mark.usefixtures("gone")
def test_their_password_opens_nothing(browser, raw):
    answer = browser().post("/login/", {"username": "alice", "password": PASSWORD})
    assert answer.status_code == 422
    assert "Wrong username or password." in answer.content.decode()
    assert raw.hget("user:1", "auth") is not None  # as it was: nobody has given it a new secret


@pytest.mark.usefixtures("gone")
def test_nobody_can_follow_them_or_have_their_name(browser, raw, carol):
    assert browser(carol).post("/@alice/follow/").status_code == 410
    assert not raw.exists("following:3")
    form = {"username": "ALICE", "password1": PASSWORD, "password2": PASSWORD}
    assert browser().post("/register/", form).status_code == 422


def test_two_users_are_equal_only_while_they_go_by_the_same_name(raw, store, alice):
    before = Users(store).people([1])[1]
    raw.hset("user:1", "name", "Alice Liddell")
    Memory.clear_all()
    after = Users(store).people([1])[1]
    assert (before.shown_name, after.shown_name) == ("Alice", "Alice Liddell")
    assert before != after
