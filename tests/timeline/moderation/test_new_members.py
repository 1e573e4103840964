"""The page on which staff looks at new members, each with the first post."""

import re

import pytest

from accounts.users.accounts import AccountDeletion
from tests.support.people import register
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_moderator
from tests.support.stored_keys import publish
from timeline.posts.delivery import Reposts


@pytest.fixture
def staff(browser, store, raw, alice, bob, carol):
    """The browser of carol, a moderator; bob has written a post."""
    publish(raw, store, bob, "Buy!")
    make_moderator(store, CAROL)
    return browser(carol)


def test_new_members_stand_with_their_first_posts_and_none_is_left_out(staff, store, raw):
    for number in range(25):
        register(store, f"person{number}")
    names = [f"person{number}" for number in range(25)]
    raw.zadd(
        "users_by_time", dict.fromkeys(["bob", *names[:3]], 2000) | {n: 2001 + i for i, n in enumerate(names[3:21])}
    )
    raw.zadd("users_by_time", {"Alice": 1, "carol": 1} | dict.fromkeys(names[21:], 1))
    pages = [staff.get("/moderation/new/").content.decode(), staff.get("/moderation/new/?before=2000").content.decode()]
    found = [re.findall(r'href="/moderation/people/(\w+)/"><bdi>', page) for page in pages]
    assert (len(found[0]), {*found[0]}) == (22, {"bob", *names[:21]})
    assert {*found[1]} == {"Alice", "carol", *names[21:]}
    assert 'href="?before=2000"' in pages[0]
    assert re.search(r"@bob.*Joined 1 January 1970.*Buy!.*/moderation/people/bob/1/", pages[0], re.S)


def test_a_new_member_who_began_with_a_repost_stands_with_the_first_post(staff, store, raw, alice):
    Reposts(store).repost(ALICE, 1, BOB)
    assert staff.get("/moderation/new/").content.decode().count("No posts yet") == 2
    publish(raw, store, alice, "Buy mine!")
    page = staff.get("/moderation/new/").content.decode()
    assert "Buy mine!" in page
    assert page.count("No posts yet") == 1


def test_nothing_of_a_deleted_account_is_shown_before_a_worker_has_removed_it(staff, store, bob):
    """One command hides all of it, from staff too."""
    way = "/moderation/people/bob/1/"
    assert "Buy!" in staff.get(way).content.decode()
    AccountDeletion(store).delete(bob.user, bob.secret)
    page = staff.get("/moderation/new/").content.decode()
    assert "Buy!" not in page
    assert "/moderation/people/bob/" not in page
    assert "/moderation/people/Alice/" in page
    for answer in (staff.get(way), staff.post(way, {"reason": "Ads"})):
        assert answer.status_code == 410
        assert "Buy!" not in answer.content.decode()
