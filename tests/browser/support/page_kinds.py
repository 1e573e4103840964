"""Every kind of page: PAGES names a function for each, which opens it in a window of a World and returns the window.
Those in ADDRESSES are found in every language."""

import base64
import secrets

from django.conf import settings
from playwright.sync_api import expect

from retwis_site.store.client import connect
from tests.browser.support.served import outage
from tests.browser.support.steps import (
    AGE,
    composer,
    fill_in_login,
    fill_in_registration,
    follow_button,
    more,
    post,
    said,
    unfollow_button,
    write,
)
from tests.browser.support.world import LONGEST_WORD
from timeline.posts.composing import drafts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


def at(whose, path, status=200):
    """A function that opens `path` in the window `whose`. `{me}` and the like are filled in from the World."""

    def go(world):
        page = getattr(world, whose)
        address = path.format(**vars(world))
        if status != 200:
            world.console.expects(status, address.partition("?")[0])
        answer = page.goto(address)
        assert answer.status == status
        return page

    return go


def register_with_errors(world):
    world.console.expects(422, "/register/")
    page = world.visitor
    page.goto("/register/")
    fill_in_registration(page, "no such name!", "short", "other")
    expect(page.get_by_role("main").get_by_label("Username")).to_have_attribute("aria-invalid", "true")
    return page


def login_with_errors(world):
    world.console.expects(422, "/login/")
    page = world.visitor
    page.goto("/login/")
    fill_in_login(page, "nobody_at_all", "nothing at all")
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def settings_with_errors(world):
    world.console.expects(422, "/settings/")
    page = world.member
    page.goto("/settings/")
    page.get_by_label("About you").fill("x" * 161)
    page.get_by_role("main").get_by_role("button", name="Save").click()
    expect(page.get_by_label("About you")).to_have_attribute("aria-invalid", "true")
    return page


def password_with_errors(world):
    world.console.expects(422, "/settings/password/")
    page = world.member
    page.goto("/settings/password/")
    page.get_by_label("Current password").fill("not mine")
    page.get_by_label("New password", exact=True).fill("short")
    page.get_by_label("Repeat new password").fill("other")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    return page


def deletion_with_errors(world):
    world.console.expects(422, "/settings/delete/")
    page = world.member
    page.goto("/settings/delete/")
    page.get_by_label("Current password").fill("not mine")
    page.get_by_role("button", name="Delete my account permanently").click()
    expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    return page


def home_with_a_text_that_is_too_long(world):
    world.console.expects(422, "/post/")
    page = world.member
    page.goto("/")
    write(page, "x" * 281)
    expect(composer(page)).to_have_attribute("aria-invalid", "true")
    return page


def home_with_a_draft(world):
    """With a text that was posted before the login."""
    page = world.member
    draft = f"{drafts.NOBODY}...{base64.urlsafe_b64encode(b'Not posted yet').decode()}"
    page.context.add_cookies([{"name": drafts.COOKIE, "value": draft, "url": world.site.browser.origin}])
    page.goto("/")
    expect(composer(page)).to_have_value("Not posted yet")
    page.context.clear_cookies(name=drafts.COOKIE)
    return page


def a_form_of_another_user(world):
    world.console.expects(409, "/post/")
    page = world.member
    page.goto("/")
    page.evaluate("() => { document.querySelector('[name=as]').value = '2'; }")
    write(page, LONGEST_WORD)
    expect(page.get_by_role("heading", name="Post as someone else?")).to_be_visible()
    return page


def profile_with_a_message(world):
    page = world.newcomer
    page.goto(f"/@{world.me}/")
    follow_button(page, world.me).click()
    said(page, f"You now follow {world.me}.")
    unfollow_button(page, world.me).click()
    said(page, f"You no longer follow {world.me}.")
    return page


def home_with_a_deletion_to_confirm(world):
    page = world.member
    page.goto("/")
    own = page.get_by_role("article").filter(has_text="Delete").first
    more(own).click()
    own.get_by_text("Delete", exact=True).click()
    expect(page.get_by_role("button", name="Yes, delete this post").first).to_be_visible()
    return page


def home_with_something_new(world):
    """With a post that is new since the last visit."""
    world.member.goto("/")
    Posts(connect()).publish(world.other_uid, NewPost("New since the last visit"), secrets.token_hex(8))
    world.member.goto("/")
    expect(post(world.member, "New since the last visit").first).to_be_visible()
    return world.member


def home_when_something_arrives(world):
    page = world.reader
    page.clock.install()
    page.goto("/")
    Posts(connect()).publish(world.other_uid, NewPost("Just now"), secrets.token_hex(8))
    page.clock.fast_forward(120_000)
    expect(page.get_by_role("link", name="1 new post")).to_be_visible()
    return page


def home_in_an_outage(world):
    world.console.expects_an_outage("/")
    with outage(world.site, world.server):
        world.member.goto("/")
        expect(world.member.get_by_role("link", name="Try again")).to_be_visible()
    return world.member


def a_text_in_an_outage(world):
    world.console.expects_an_outage("/post/")
    page = world.member
    page.goto("/")
    with outage(world.site, world.server):
        write(page, LONGEST_WORD)
        expect(page.get_by_role("button", name="Send it again")).to_be_visible()
    return page


def a_form_from_before_a_login(world):
    world.console.expects(403, "/post/")
    page = world.member
    page.goto("/")
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    write(page, LONGEST_WORD)
    expect(page.get_by_role("heading", name="Please send the form again")).to_be_visible()
    return page


def a_post(world):
    page = world.member
    page.goto(f"/@{world.other}/")
    page.get_by_role("link", name=AGE).first.click()
    expect(page.get_by_role("article")).to_have_count(1)
    return page


# What an address opens, in any language.
ADDRESSES = {
    "welcome": at("visitor", "/"),
    "register": at("visitor", "/register/"),
    "login": at("visitor", "/login/"),
    "home": at("member", "/"),
    "home, further back": at("member", "/?before={newest}"),
    "home, empty": at("newcomer", "/"),
    "everyone": at("member", "/timeline/"),
    "everyone, to a visitor": at("visitor", "/timeline/"),
    "everyone, further back": at("visitor", "/timeline/?before={newest}"),
    "explore": at("member", "/explore/"),
    "explore, to a visitor": at("visitor", "/explore/"),
    "own profile": at("member", "/@{me}/"),
    "own profile, empty": at("newcomer", "/@Newcomer/"),
    "profile": at("member", "/@{other}/"),
    "profile, empty": at("member", "/@Newcomer/"),
    "profile, to a visitor": at("visitor", "/@{other}/"),
    "followers": at("member", "/@{me}/followers/"),
    "followers, none": at("member", "/@Newcomer/followers/"),
    "following": at("visitor", "/@{me}/following/"),
    "following, none": at("member", "/@Newcomer/following/"),
    "followers, mutual": at("member", "/@{me}/followers/?show=mutual"),
    "following, none not followed back": at("member", "/@{me}/following/?show=not-followed-back"),
    "profile, with every detail": at("member", "/@Rapunzel/"),
    "people": at("member", "/people/"),
    "people, to a visitor": at("visitor", "/people/?by=followers"),
    "people, found": at("member", "/people/?q=Follower"),
    "people, no one found": at("visitor", "/people/?q=nobody_at_all"),
    "search": at("member", "/search/"),
    "search, to a visitor": at("visitor", "/search/"),
    "search, found": at("member", "/search/?q=bread"),
    "search, nothing found": at("member", "/search/?q=nobody_writes_this&in=saved"),
    "search, a text that is no query": at("visitor", "/search/?q=before:today", 400),
    "profile, posts and replies": at("member", "/@{other}/replies/"),
    "thread": at("member", "/@{me}/{mine}/"),
    "thread, to a visitor": at("visitor", "/@{me}/{mine}/"),
    "quotes": at("member", "/@{me}/{mine}/quotes/"),
    "likes of a post": at("member", "/@{me}/{mine}/likes/"),
    "likes": at("member", "/likes/"),
    "bookmarks": at("member", "/bookmarks/"),
    "notifications": at("member", "/notifications/"),
    "kinds of notifications": at("member", "/settings/notifications/"),
    "blocked and muted people": at("member", "/settings/blocks/"),
    "muted words": at("member", "/settings/words/"),
    "a tag": at("member", "/tags/bread/"),
    "a tag, to a visitor": at("visitor", "/tags/bread/"),
    "followed tags, none": at("member", "/tags/"),
    "compose": at("member", "/compose/"),
    "compose, a reply": at("member", "/compose/?reply_to={newest}"),
    "edit": at("member", "/@{me}/{mine}/edit/"),
    "history": at("visitor", "/@{me}/{mine}/history/"),
    "settings": at("member", "/settings/"),
    "password": at("member", "/settings/password/"),
    "devices": at("member", "/settings/sessions/"),
    "log out everywhere": at("member", "/settings/sessions/everywhere/"),
    "recovery codes": at("member", "/settings/recovery/"),
    "recover": at("visitor", "/recover/"),
    "a link that has ended": at("visitor", "/reset/ended/", 410),
    "delete account": at("member", "/settings/delete/"),
    "language": at("member", "/settings/language/"),
    "appearance": at("member", "/settings/appearance/"),
    "appearance, to a visitor": at("visitor", "/settings/appearance/"),
    "invitations": at("member", "/settings/invites/"),
    "the book": at("visitor", "/book/"),
    "a chapter": at("member", "/book/caches/"),
    "about": at("visitor", "/about/"),
    "rules": at("visitor", "/rules/"),
    "privacy": at("visitor", "/privacy/"),
    "report a person": at("member", "/@{other}/report/"),
    "report a post": at("member", "/@{other}/{theirs}/report/"),
    "reported": at("member", "/@{other}/reported/"),
    "home, frozen": at("frozen", "/"),
    "appeal": at("frozen", "/appeal/"),
    "moderation": at("admin", "/moderation/"),
    "a report": at("admin", "/moderation/reports/{report}/"),
    "a person, to staff": at("admin", "/moderation/people/{other}/"),
    "a frozen person, to staff": at("admin", "/moderation/people/Frozen/"),
    "what staff has done": at("admin", "/moderation/log/"),
    "who wants to join": at("admin", "/moderation/joining/"),
    "the site, to staff": at("admin", "/moderation/site/"),
    "400": at("member", "/?before=nonsense", 400),
    "404": at("visitor", "/@nobody_at_all/", 404),
    "405": at("visitor", "/post/", 405),
    "410": at("visitor", "/@{other}/{deleted}/", 410),
    "410, of a deleted account": at("visitor", "/@{left}/", 410),
}
# What people's acts open, in English.
ACTS = {
    "register, with errors": register_with_errors,
    "login, with errors": login_with_errors,
    "home, with errors": home_with_a_text_that_is_too_long,
    "home, a deletion to confirm": home_with_a_deletion_to_confirm,
    "home, with a draft": home_with_a_draft,
    "profile, with a message": profile_with_a_message,
    "home, something new": home_with_something_new,
    "home, something arrives": home_when_something_arrives,
    "a post": a_post,
    "settings, with errors": settings_with_errors,
    "password, with errors": password_with_errors,
    "delete account, with errors": deletion_with_errors,
    "403": a_form_from_before_a_login,
    "409": a_form_of_another_user,
    "503": home_in_an_outage,
    "503, with a text": a_text_in_an_outage,
}
PAGES = ADDRESSES | ACTS
