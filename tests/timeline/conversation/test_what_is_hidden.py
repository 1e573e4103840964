"""What blocks and mutes hide besides posts: names on cards, lists of people; and what they leave open."""

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from tests.support.protocols.reports import make_moderator
from tests.support.stored_posts import write_answer, write_posts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Follows, Mutes

ALICE, BOB, CAROL = 1, 2, 3
pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")


def html(client, address):
    return client.get(address).content.decode()


@pytest.fixture
def answer(raw, carol):
    """Post 2: carol answers bob's post 1."""
    write_posts(raw, BOB, [1])
    write_answer(raw, CAROL, 2, parent=1)


@pytest.mark.parametrize(("who", "whom"), [(ALICE, BOB), (BOB, ALICE)])
@pytest.mark.parametrize("address", ["/timeline/", "/@carol/2/", "/@carol/replies/"])
def test_an_answer_does_not_name_a_blocked_person(answer, browser, store, alice, who, whom, address):
    assert "Replying to" in html(browser(alice), address)
    BlockedPeople(store).block(who, whom)
    Memory.clear_all()
    page = html(browser(alice), address)
    assert 'id="post-2"' in page
    assert "Replying to" not in page
    assert "Replying to" in html(browser(), address)


@pytest.mark.parametrize("address", ["/timeline/", "/@carol/2/", "/@carol/replies/", "/timeline/atom/"])
@pytest.mark.parametrize("state", [State.HIDDEN, State.SUSPENDED])
def test_an_answer_names_a_person_on_whom_staff_acted_to_nobody_who_does_not_see_them(
    answer, browser, store, alice, state, address
):
    assert "Replying to" in html(browser(), address)
    Sanctions(store).impose(BOB, state, "x")
    for viewer in (browser(), browser(alice), browser()):
        page = html(viewer, address)
        assert "post 2" in page
        assert "Replying to" not in page
    Sanctions(store).lift(BOB)
    assert "Replying to" in html(browser(), address)


def test_followers_of_a_hidden_person_and_the_person_see_whom_an_answer_answers(answer, browser, store, alice, bob):
    Follows(store).follow(ALICE, BOB)
    Sanctions(store).impose(BOB, State.HIDDEN, "x")
    for _ in range(2):  # what one viewer sees is kept for no other one
        assert "Replying to" in html(browser(alice), "/timeline/")
        assert "Replying to" in html(browser(bob), "/timeline/")
        assert "Replying to" not in html(browser(), "/timeline/")


@pytest.mark.parametrize("address", ["/@bob/1/", "/@bob/1/history/", "/compose/?reply_to=1", "/compose/?quote=1"])
@pytest.mark.parametrize("hides", ["a mute", "staff"])
def test_a_post_that_the_viewer_asks_for_is_hidden_by_a_block_alone(browser, store, raw, alice, address, hides):
    write_posts(raw, BOB, [1])
    if hides == "a mute":
        Mutes(store).mute(ALICE, BOB)
    else:
        Sanctions(store).impose(BOB, State.HIDDEN, "x")
    assert "post 1" in html(browser(alice), address)
    BlockedPeople(store).block(BOB, ALICE)
    assert "post 1" not in html(browser(alice), address)


def test_posts_that_are_asked_for_together_show_no_more_of_a_hidden_person(store, raw, alice, bob, carol):
    write_posts(raw, BOB, [1, 2])
    quote = Posts(store).publish(carol.user.uid, NewPost("Look", quote=2), "t1").pid
    Sanctions(store).impose(BOB, State.HIDDEN, "x")
    together = App().json("GET", f"/api/v1/statuses?id[]=1&id[]={quote}")
    assert together[-1] == App().json("GET", f"/api/v1/statuses/{quote}")
    assert "post 2" not in str(together)


def test_a_quoted_post_has_the_same_links_as_on_its_own_page(browser, store):
    Posts(store).publish(BOB, NewPost("hello @Carol and @nobody", None, None), "one")
    Posts(store).publish(CAROL, NewPost("look", None, 1), "two")
    for address in ("/@bob/1/", "/@carol/2/"):
        page = html(browser(), address)
        assert '<a href="/@Carol/"' in page
        assert 'href="/@nobody/"' not in page


def test_the_earlier_texts_of_a_post_link_no_names_that_nobody_had(browser, store):
    Posts(store).publish(BOB, NewPost("hello @nobody", None, None), "one")
    Posts(store).edit(BOB, 1, "hello @Carol and @noone")
    page = html(browser(), "/@bob/1/history/")
    assert '<a href="/@Carol/"' in page
    assert "@nobody" in page
    assert 'href="/@no' not in page


def test_a_kept_answer_is_shown_when_the_post_was_deleted_before_the_login(client, store):
    Posts(store).publish(BOB, NewPost("hello", None, None), "one")
    to_login = client.post("/post/", {"body": "my long answer", "reply_to": "1"})["Location"]
    Posts(store).delete(BOB, 1)
    client.post(to_login, {"username": "Alice", "password": PASSWORD, "next": "/compose/?reply_to=1"})
    assert "my long answer" in page_of(client.get("/compose/?reply_to=1"))
    assert client.get("/compose/?reply_to=9").status_code == 404


def test_a_block_takes_a_person_out_of_the_suggestions_at_once(store, member):
    Follows(store).follow(CAROL, BOB)
    Posts(store).publish(ALICE, NewPost("mine", None, None), "one")
    assert "/@bob/follow/" in html(member, "/")
    member.post("/@bob/block/")
    assert "/@bob/follow/" not in html(member, "/")


def test_who_blocks_the_moderators_does_not_keep_them_from_a_reported_post(browser, store, raw, alice, carol):
    write_posts(raw, BOB, [1])
    make_moderator(store, CAROL)
    own, staff = "/moderation/people/bob/1/", browser(carol)
    assert "See it in its thread" in page_of(staff.get(own))
    for who in (ALICE, CAROL):
        BlockedPeople(store).block(BOB, who)
    assert browser(alice).get("/@bob/1/").status_code == 403
    assert staff.get("/@bob/1/")["Location"] == own
    page = page_of(staff.get(own))
    assert "Delete this post" in page
    assert "See it in its thread" not in page  # it would lead back here
