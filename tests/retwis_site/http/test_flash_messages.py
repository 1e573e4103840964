"""Flash messages ("Posted."): shown once, on the next page."""

import pytest
from django.contrib import messages
from django.core import signing
from django.http import HttpResponse

from accounts.signing_in.html import Rendering
from accounts.signing_in.viewer import VISITOR
from retwis_site.http.cookies import may_have_messages
from retwis_site.middleware import SiteMiddleware
from retwis_site.rendering.fragments import NOTHING
from timeline.posts.entities import PostsPage
from timeline.timelines.everyone import EveryonePage
from timeline.timelines.html import welcome_page


def page(client, url="/"):
    return client.get(url).content.decode()


def test_a_message_is_shown_once_and_its_cookie_is_removed(member, bob):
    assert "messages" in member.post("/@bob/follow/").cookies
    answer = member.get("/@bob/")
    assert answer.content.decode().count("You now follow bob.") == 1
    assert answer.cookies["messages"]["max-age"] == 0
    again = member.get("/@bob/")
    assert "You now follow bob." not in again.content.decode()
    assert "messages" not in again.cookies


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@bob/", "/login/", "/nothing/"])
def test_without_a_message_there_is_no_cookie(browser, alice, url):
    for client in (browser(), browser(alice)):
        for _ in range(2):
            assert "messages" not in client.get(url).cookies


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@bob/", "/@bob/following/"])
def test_a_message_is_shown_on_the_next_page(browser, member, bob, url):
    for each in (member, browser(bob), member):
        each.get(url)
    member.post("/@bob/follow/")
    assert "You now follow bob." in page(member, url)
    assert "You now follow bob." not in page(member, url)


def test_the_next_page_shows_all_messages_in_order(member, bob):
    member.post("/@bob/follow/")
    member.post("/@bob/unfollow/")
    text = page(member)
    assert 0 < text.index("You now follow bob.") < text.index("You no longer follow bob.")
    assert "follow bob" not in page(member)


SIGNED_BY_NOBODY = ['[["__json_message",0,25,"Forged"]]', "gASVCgAAAAAAAACMBkZvcmdlZJQu:x", "Forged:1:1"]


@pytest.mark.parametrize("forged", ["x", "W10:forged", "\u00e9", "[]", *SIGNED_BY_NOBODY])
def test_a_forged_message_is_not_shown_and_its_cookie_is_removed(member, forged):
    member.cookies["messages"] = forged
    answer = member.get("/")
    assert answer.status_code == 200
    assert 'class="message ' not in answer.content.decode()
    assert "Forged" not in answer.content.decode()
    assert answer.cookies["messages"]["max-age"] == 0


def test_a_message_can_be_shown_in_the_same_request(rf, raw):
    """A view may add a message and return its page at once."""
    found = EveryonePage([], PostsPage([], None), at_the_cap=False)
    seen = []

    def view(request):
        if request.path == "/now/":
            messages.success(request, "Now.")
        seen.append(may_have_messages(request))
        return welcome_page(request, Rendering("en", NOTHING, VISITOR), found)

    answers = [SiteMiddleware(view)(rf.get(path)) for path in ("/now/", "/", "/")]
    assert seen == [True, False, False]
    assert ["Now." in answer.content.decode() for answer in answers] == [True, False, False]
    assert "messages" not in answers[1].cookies


def test_with_debug_messages_that_do_not_fit_are_no_error(rf, raw, settings):
    settings.DEBUG = True

    def view(request):
        for number in range(200):
            messages.success(request, f"Message {hash(str(number))}.")
        return HttpResponse()

    answer = SiteMiddleware(view)(rf.get("/"))
    assert answer.status_code == 200
    assert "messages" in answer.cookies


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@bob/"])
def test_without_a_message_no_signer_is_made(member, bob, url, monkeypatch):
    made = []
    make = signing.get_cookie_signer
    monkeypatch.setattr(signing, "get_cookie_signer", lambda salt: (made.append(salt), make(salt=salt))[1])
    for _ in range(3):
        member.get(url)
    assert not made
    member.post("/@bob/follow/")
    member.get(url)
    assert made
