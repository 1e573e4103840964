"""axe finds nothing on any page, in either theme, at either width; and nothing scrolls sideways at 320 pixels, which is
a window of 1280 zoomed to 400 %."""

import base64
import contextlib
import itertools
import secrets
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.name_index import NameIndex
from retwis_site.store.client import connect
from tests.browser.support.accessibility import findings, ran
from tests.browser.support.console import Console
from tests.browser.support.served import outage, serving
from tests.browser.support.steps import (
    AGE,
    composer,
    fill_in_login,
    fill_in_registration,
    follow_button,
    nothing_scrolls_sideways,
    post,
    said,
    unfollow_button,
    write,
)
from tests.browser.support.windows import sign_in
from tests.support.people import register
from tests.support.stored_keys import publish
from tests.support.stores.store_faults import a_server
from timeline.posts import drafts
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

THEMES = ("light", "dark")
WIDTHS = (1280, 360)
NARROWEST = 320

LONGEST_NAME = "Wolfeschlegelsteinhausenberger"
LONGEST_DISPLAY_NAME_OF_ALL = "نور الهدى " * 4 + "W" * 10
LONGEST_WORD = "Donaudampfschifffahrt" * 13
BODIES = [
    "A plain sentence about nothing much.",
    LONGEST_WORD,
    f"Look: https://example.org/{'a-long-way/' * 20}?q=1 and @{LONGEST_NAME}",
    "שלום עולם, and العربية beside English",
    "여러분 안녕하세요 👋🏽 <script>alert(1)</script> & so on",
    "W" * 280,
]


@dataclass(frozen=True)
class World:
    """The people, and their windows: a visitor's, of somebody with a full home, of somebody without, and one whose
    clock is put forward."""

    site: Any
    server: Any
    console: Console
    visitor: Page
    member: Page
    newcomer: Page
    reader: Page
    me: str
    other: str
    other_uid: int
    newest: int
    deleted: int
    left: str


@pytest.fixture(scope="module")
def world(chromium, site, real_server):
    """Windows that all pages share: opening one takes longer than looking at a page."""
    store, raw = connect(), real_server.admin
    me, other, newcomer = (register(store, name) for name in ("Astrid", LONGEST_NAME, "Newcomer"))
    crowd = [register(store, f"Follower_{number}") for number in range(25)]
    for them in [other, *crowd]:
        Follows(store).follow(me.user.uid, them.user.uid)
        Follows(store).follow(them.user.uid, me.user.uid)
    for number, author in enumerate(itertools.islice(itertools.cycle([other, me, crowd[0]]), 24)):
        newest = publish(raw, store, author, f"{BODIES[number % len(BODIES)][:270]} {number}")
    told = register(store, "Rapunzel")
    for them in crowd[:5]:
        Follows(store).follow(them.user.uid, told.user.uid)
    Follows(store).follow(told.user.uid, me.user.uid)
    for one in [told, other, crowd[0]]:
        viewer = Viewer(store, one.secret).require_user()
        NameIndex(store).edit(viewer, LONGEST_DISPLAY_NAME_OF_ALL, f"{BODIES[2][:120]} אבג")
    left = register(store, "Leaver")
    AccountDeletion(store).delete(left.user, left.secret)
    deleted = publish(raw, store, other, "Not for long")
    Posts(store).delete(other.user.uid, deleted)
    console = Console(site.browser.origin)
    with contextlib.ExitStack() as windows:

        def window(login=None):
            # Without motion no colour is met halfway to another.
            context = chromium.new_context(base_url=site.browser.origin, reduced_motion="reduce")
            windows.callback(context.close)
            console.watch(context)
            if login is not None:
                sign_in(context, login, site.browser.origin)
            return context.new_page()

        yield World(
            site,
            real_server,
            console,
            window(),
            window(me),
            window(newcomer),
            window(me),
            me.user.username,
            other.user.username,
            other.user.uid,
            newest,
            deleted,
            left.user.username,
        )


# ---- every kind of page: how one gets there, and whose window shows it


def at(whose, path, status=200):
    """A page that has an address, in which `{me}` and the like stand for the world's."""

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
    """A text that waited for its author to log in."""
    page = world.member
    draft = base64.urlsafe_b64encode(b"Not posted yet").decode()
    page.context.add_cookies([{"name": drafts.COOKIE, "value": draft, "url": world.site.browser.origin}])
    page.goto("/")
    expect(composer(page)).to_have_value("Not posted yet")
    page.context.clear_cookies(name=drafts.COOKIE)
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
    page.get_by_text("Delete", exact=True).first.click()
    expect(page.get_by_role("button", name="Yes, delete this post").first).to_be_visible()
    return page


def home_with_something_new(world):
    """As somebody finds it who has been here before."""
    world.member.goto("/")
    Posts(connect()).publish(world.other_uid, "New since you left", secrets.token_hex(8))
    world.member.goto("/")
    expect(post(world.member, "New since you left").first).to_be_visible()
    return world.member


def home_when_something_arrives(world):
    page = world.reader
    page.clock.install()
    page.goto("/")
    Posts(connect()).publish(world.other_uid, "Just now", secrets.token_hex(8))
    page.clock.fast_forward(120_000)
    expect(page.get_by_role("link", name="1 new post")).to_be_visible()
    return page


def home_in_an_outage(world):
    world.console.expects(503, "/")
    with outage(world.site, world.server):
        world.member.goto("/")
        expect(world.member.get_by_role("link", name="Try again")).to_be_visible()
    return world.member


def a_text_in_an_outage(world):
    world.console.expects(503, "/post/")
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


PAGES = {
    "welcome": at("visitor", "/"),
    "register": at("visitor", "/register/"),
    "register, with errors": register_with_errors,
    "login": at("visitor", "/login/"),
    "login, with errors": login_with_errors,
    "home": at("member", "/"),
    "home, further back": at("member", "/?before={newest}"),
    "home, empty": at("newcomer", "/"),
    "home, with errors": home_with_a_text_that_is_too_long,
    "home, a deletion to confirm": home_with_a_deletion_to_confirm,
    "home, with a draft": home_with_a_draft,
    "profile, with a message": profile_with_a_message,
    "home, something new": home_with_something_new,
    "home, something arrives": home_when_something_arrives,
    "everybody": at("member", "/timeline/"),
    "everybody, to a visitor": at("visitor", "/timeline/"),
    "everybody, further back": at("visitor", "/timeline/?before={newest}"),
    "profile, one's own": at("member", "/@{me}/"),
    "profile, one's own and empty": at("newcomer", "/@Newcomer/"),
    "profile, another's": at("member", "/@{other}/"),
    "profile, another's and empty": at("member", "/@Newcomer/"),
    "profile, to a visitor": at("visitor", "/@{other}/"),
    "followers": at("member", "/@{me}/followers/"),
    "followers, nobody": at("member", "/@Newcomer/followers/"),
    "following": at("visitor", "/@{me}/following/"),
    "following, nobody": at("member", "/@Newcomer/following/"),
    "followers, mutual": at("member", "/@{me}/followers/?show=mutual"),
    "following, nobody such": at("member", "/@{me}/following/?show=not-followed-back"),
    "profile, with all that it may tell": at("member", "/@Rapunzel/"),
    "people": at("member", "/people/"),
    "people, to a visitor": at("visitor", "/people/?by=followers"),
    "people, found": at("member", "/people/?q=Follower"),
    "people, nobody found": at("visitor", "/people/?q=nobody_at_all"),
    "a post": a_post,
    "settings": at("member", "/settings/"),
    "settings, with errors": settings_with_errors,
    "password": at("member", "/settings/password/"),
    "password, with errors": password_with_errors,
    "delete account": at("member", "/settings/delete/"),
    "delete account, with errors": deletion_with_errors,
    "appearance": at("member", "/settings/appearance/"),
    "appearance, to a visitor": at("visitor", "/settings/appearance/"),
    "400": at("member", "/?before=nonsense", 400),
    "403": a_form_from_before_a_login,
    "404": at("visitor", "/@nobody_at_all/", 404),
    "405": at("visitor", "/post/", 405),
    "410": at("visitor", "/@{other}/{deleted}/", 410),
    "410, of a deleted account": at("visitor", "/@{left}/", 410),
    "503": home_in_an_outage,
    "503, with a text": a_text_in_an_outage,
}


@pytest.mark.parametrize("go", PAGES.values(), ids=PAGES)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(world, go):
    page = go(world)
    assert look_at(page) == []
    world.console.settle(page.context)
    assert world.console.complaints() == []


def look_at(page):
    """What is wrong with it in either theme at either width; at the narrowest, nothing scrolls."""
    found = []
    for theme, width in itertools.product(THEMES, WIDTHS):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 800})
        # As tall as the page is: what a bar happens to lie over can be scrolled from under it, but axe cannot.
        height = page.evaluate("() => document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": height})
        found += [f"{theme}, {width} px: {finding}" for finding in findings(page)]
    page.set_viewport_size({"width": NARROWEST, "height": 256})
    nothing_scrolls_sideways(page)
    return found


def test_axe_finds_nothing_on_a_site_where_nobody_has_posted(chromium, tmp_path):
    with a_server() as server:
        server.start()
        with serving(tmp_path, server.url) as site:
            page = chromium.new_page(base_url=site.browser.origin, reduced_motion="reduce")
            try:
                for address in ("/", "/timeline/"):
                    page.goto(address)
                    expect(page.get_by_role("heading", name="No posts yet.")).to_be_visible()
                    assert look_at(page) == []
            finally:
                page.close()


# ---- the check itself


def test_axe_does_find_what_is_wrong(world):
    page = world.visitor
    page.goto("/")
    page.evaluate(
        """() => {
          document.documentElement.removeAttribute("lang");
          const said = document.createElement("p");
          said.textContent = "hardly to be read";
          said.id = "pale";
          document.querySelector("main").append(said);
          said.style.cssText = "color: #999; background: #aaa";
          const tight = document.createElement("div");
          said.after(tight);
          for (const name of ["one", "two"]) {
            const small = document.createElement("button");
            small.textContent = name;
            small.style.cssText = "width: 12px; height: 12px; padding: 0; margin: 0; border: 0; font-size: 6px";
            tight.append(small);
          }
        }"""
    )
    found = {line.partition(":")[0] for line in findings(page)}
    assert found >= {"html-has-lang", "color-contrast", "target-size"}


def test_what_is_too_wide_is_noticed(world):
    page = world.visitor
    page.set_viewport_size({"width": NARROWEST, "height": 256})
    page.goto("/login/")
    nothing_scrolls_sideways(page)
    page.evaluate("() => { document.querySelector('h1').style.width = '321px'; }")
    with pytest.raises(AssertionError, match="wide in a window of 320"):
        nothing_scrolls_sideways(page)


def test_every_rule_of_wcag_2_2_is_asked(world):
    page = world.member
    page.goto("/")
    answer = ran(page)
    asked = {rule["id"] for kind in ("passes", "violations", "incomplete", "inapplicable") for rule in answer[kind]}
    assert asked >= {"target-size", "color-contrast", "label", "landmark-one-main", "region", "page-has-heading-one"}
