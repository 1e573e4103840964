"""Pages and logins after a deletion: the field `deleted` hides the account, even while its other keys still exist."""

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.people import PASSWORD
from tests.support.stored_posts import write_posts
from timeline.people.suggestions import Suggestions
from timeline.relations.follow import Follows


@pytest.fixture
def deleted_alice(raw, store, alice, bob, carol):
    """alice's account is deleted, and no worker has removed anything. She has posted; she and bob follow each other."""
    Follows(store).follow(2, 1)
    Follows(store).follow(1, 2)
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [2])
    raw.hset("user:1", "deleted", 1_700_000_000)
    Memory.clear_all()


@pytest.mark.parametrize("url", ["/@Alice/", "/@alice/", "/@alice/1/", "/@alice/followers/", "/@alice/following/"])
@pytest.mark.usefixtures("deleted_alice")
def test_the_pages_of_a_deleted_account_are_gone(browser, bob, url):
    page = browser().get(url)
    assert page.status_code == 410
    assert "This account was deleted." in page.content.decode()
    assert browser(bob).get(url).status_code == 410


@pytest.mark.usefixtures("deleted_alice")
def test_no_timeline_shows_posts_of_a_deleted_account(browser, bob):
    for client, url in ((browser(), "/"), (browser(), "/timeline/"), (browser(bob), "/"), (browser(bob), "/timeline/")):
        page = client.get(url).content.decode()
        assert 'id="post-2"' in page
        assert 'id="post-1"' not in page


@pytest.mark.usefixtures("deleted_alice")
def test_no_list_of_people_shows_a_deleted_account(browser, store):
    assert "/@Alice/" not in browser().get("/@bob/followers/").content.decode().replace('href="/@bob/', "")
    assert "/@Alice/" not in browser().get("/@bob/following/").content.decode()
    assert [one.user.username for one in Suggestions(store).for_user(3)] == ["bob"]


@pytest.mark.usefixtures("deleted_alice")
def test_the_sessions_of_a_deleted_account_have_ended(browser, alice):
    assert "Log in" in browser(alice).get("/").content.decode()
    assert browser(alice).get("/settings/password/").status_code == 302


@pytest.mark.usefixtures("deleted_alice")
def test_the_password_of_a_deleted_account_opens_nothing(browser, raw):
    answer = browser().post("/login/", {"username": "alice", "password": PASSWORD})
    assert answer.status_code == 422
    assert "Wrong username or password." in answer.content.decode()
    assert raw.hget("user:1", "auth") is not None  # the login has not replaced the secret


@pytest.mark.usefixtures("deleted_alice")
def test_a_deleted_account_cannot_be_followed_and_its_name_stays_taken(browser, raw, carol):
    assert browser(carol).post("/@alice/follow/").status_code == 410
    assert not raw.exists("following:3")
    form = {"username": "ALICE", "password1": PASSWORD, "password2": PASSWORD}
    assert browser().post("/register/", form).status_code == 422
