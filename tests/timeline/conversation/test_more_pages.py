"""The pages behind "More": all actions on a post, and on a person. They work without the script, and lead back."""

import re

import pytest

from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.users.entities import Role, State
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import page_of, text_of
from tests.support.stored_posts import write_answer, write_posts
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Mutes

ALICE, BOB = 1, 2
PAGE = "/@bob/3/more/"


@pytest.fixture(autouse=True)
def posts(store, alice, bob, carol, raw):
    """Posts 1 to 3 by bob."""
    write_posts(raw, BOB, [1, 2, 3])
    Memory.clear_all()


def html(client, url, came_from=None):
    headers = {"referer": f"http://testserver{came_from}"} if came_from else {}
    return page_of(client.get(url, headers=headers))


def addresses(page):
    """Where the buttons and links of the menu lead."""
    menu = page.partition('id="more"')[2].partition('<p class="end">')[0]
    return [part.partition('"')[0] for part in menu.replace('formaction="', 'href="').split('href="')[1:]]


def test_another_person_may_do_all_this_with_a_post(browser, alice):
    assert addresses(html(browser(alice), PAGE)) == [
        "/@bob/3/",
        "/@bob/3/mute/",
        *["/@bob/mute/"] * 5,  # for an hour, a day, a week, 30 days, or without an end
        "/@bob/block/",
        "/@bob/more/",
        "/@bob/3/report/",
    ]


def test_its_author_may_do_all_this(browser, bob):
    assert addresses(html(browser(bob), PAGE)) == [
        "/@bob/3/",
        "/@bob/3/edit/",
        "/@bob/3/pin/",
        "/@bob/3/mute/",
        "/@bob/3/delete/",
    ]


def test_a_visitor_reads_and_logs_in(browser):
    page = html(browser(), PAGE)
    assert addresses(page) == ["/@bob/3/", "/login/?next=/%40bob/3/"]
    assert "csrfmiddlewaretoken" not in page
    assert addresses(html(browser(), "/@bob/more/")) == ["/login/?next=/%40bob/"]


def test_the_whole_address_can_be_copied_and_shared(browser, alice):
    for client in (browser(alice), browser()):
        page = html(client, PAGE)
        # Enter in a field of one line would press the first button. It must be in the form: HTML has no form="".
        assert 'rows="1" readonly dir="ltr">http://testserver/@bob/3/</textarea></label>' in page
        hidden = re.findall(
            r'<li hidden><button class="(\w+)" type="button"', page
        )  # without the script they do nothing
        assert hidden == ["copies", "shares"]


def test_staff_finds_the_person(browser, store, alice):
    Roles(store).give(ALICE, Role.MODERATOR)
    for page in (PAGE, "/@bob/more/"):
        assert "/moderation/people/bob/" in addresses(html(browser(alice), page))


def test_it_offers_the_way_back_from_what_stands(browser, store, alice, raw):
    raw.hset("user:2", "pinned", 3)
    raw.zadd("muted_threads:1", {"3": 5})
    Mutes(store).mute(ALICE, BOB)
    assert {"/@bob/3/unmute/", "/@bob/unmute/"} <= {*addresses(html(browser(alice), PAGE))}
    BlockedPeople(store).block(ALICE, BOB)
    assert "Unblock bob" in html(browser(alice), "/@bob/more/")


def test_one_tap_on_mute_asks_for_how_long(browser, alice):
    for page in (PAGE, "/@bob/more/"):
        choice = html(browser(alice), page).partition(">Mute bob</summary>")[2].partition("</details>")[0]
        days = re.findall(r'name="(?:days|hours)" value="(\d*)" aria-describedby="mute[^"]*">([^<]*)</button>', choice)
        assert days == [
            ("1", "For an hour"),
            ("1", "For a day"),
            ("7", "For a week"),
            ("30", "For 30 days"),
            ("", "Until I unmute"),
        ]


def test_a_frozen_person_finds_the_address_alone(browser, store, alice):
    Sanctions(store).impose(ALICE, State.FROZEN, "noise")
    assert addresses(html(browser(alice), PAGE)) == ["/@bob/3/"]
    assert addresses(html(browser(alice), "/@bob/more/")) == []


@pytest.mark.parametrize("page", [PAGE, "/@bob/more/"])
def test_no_cache_and_no_crawler_keeps_it(browser, alice, page):
    for client in (browser(alice), browser()):
        answer = client.get(page)
        assert {*answer["Cache-Control"].split(", ")} == {"private", "no-cache"}
        assert '<meta name="robots" content="noindex">' in answer.content.decode()


# ---- After an action the user is where they were.


@pytest.mark.parametrize("came_from", ["/timeline/?before=90", "/", "/@bob/", "/@bob/3/"])
def test_an_action_leads_back_to_the_page_before(member, came_from):
    page = html(member, PAGE, came_from)
    assert f'<input type="hidden" name="next" value="{came_from}">' in page
    assert f'<a href="{came_from}">Back</a>' in page
    headers = {"referer": f"http://testserver{PAGE}"}
    for action in ("3/mute", "mute"):
        form = {"next": came_from, "what": "all"}
        answer = member.post(f"/@bob/{action}/", form, headers=headers)
        assert answer["Location"].partition("#")[0] == came_from


@pytest.mark.parametrize("came_from", [PAGE, "/@bob/more/", "/login/?next=/"])
def test_it_does_not_lead_back_to_a_page_like_itself(browser, alice, came_from):
    assert '<a href="/@bob/3/">Back</a>' in html(browser(alice), PAGE, came_from)
    assert '<a href="/@bob/">Back</a>' in html(browser(alice), "/@bob/more/", came_from)


def test_a_deletion_leads_back_to_the_page_before(browser, bob):
    assert browser(bob).post("/@bob/3/delete/", {"next": "/timeline/"})["Location"] == "/timeline/"
    assert browser(bob).post("/@bob/2/delete/", {"next": "/@bob/3/"})["Location"] == "/@bob/3/"


@pytest.mark.parametrize(
    "page", ["/@bob/3/", "/@BOB/3/", "/%40bob/3/", "/@bob/3/?after=4", "/@BOB/3/likes/", "/compose/?quote=3"]
)
def test_a_deleted_post_is_no_page_to_return_to(browser, bob, page):
    client = browser(bob)
    assert client.get(page).status_code == 200
    assert client.post("/@bob/3/delete/", {"next": page})["Location"] == "/"


@pytest.mark.parametrize(
    "typed", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "x", "/@bob/mute/"]
)
def test_the_field_leads_only_to_pages_of_this_site(browser, alice, typed):
    assert browser(alice).post("/@bob/mute/", {"next": typed, "what": "all"})["Location"] == "/"


# ---- It is shown to those who see the post, or the profile.


def of_each_page(client, *urls):
    return {client.get(url).status_code for url in urls}


def test_a_post_that_is_not_there_has_no_such_page(store, member, raw):
    assert of_each_page(member, "/@bob/99/more/", "/@Alice/3/more/", "/@nobody/3/more/", "/@nobody/more/") == {404}
    write_answer(raw, ALICE, 4, parent=3)
    Posts(store).delete(BOB, 3)
    Posts(store).delete(BOB, 2)
    assert of_each_page(member, PAGE, "/@bob/2/more/") == {410}  # also one that keeps its place in a thread


def test_behind_a_block_it_says_what_the_page_of_the_post_says(store, member):
    BlockedPeople(store).block(BOB, ALICE)
    assert of_each_page(member, "/@bob/3/", PAGE, "/@bob/", "/@bob/more/") == {403}
    BlockedPeople(store).unblock(BOB, ALICE)
    BlockedPeople(store).block(ALICE, BOB)
    assert of_each_page(member, "/@bob/3/", PAGE) == {403}
    assert of_each_page(member, "/@bob/", "/@bob/more/") == {200}


@pytest.mark.parametrize("state", [State.HIDDEN, State.SUSPENDED, State.FROZEN])
def test_of_a_sanctioned_person_it_shows_what_their_own_pages_show(browser, store, alice, state):
    Sanctions(store).impose(BOB, state, "noise")
    Memory.clear_all()
    for client in (browser(alice), browser()):
        for page, more in (("/@bob/3/", PAGE), ("/@bob/", "/@bob/more/")):
            assert client.get(page).status_code == client.get(more).status_code


def test_nobody_sees_what_another_has_muted_or_pinned(browser, store, alice, carol, raw):
    raw.hset("user:2", "pinned", 3)
    raw.zadd("muted_threads:1", {"3": 5})
    Mutes(store).mute(ALICE, BOB)
    words = text_of(browser(carol).get(PAGE)) + text_of(browser(carol).get("/@bob/more/"))
    assert "Unmute" not in words
    assert "pin" not in words
