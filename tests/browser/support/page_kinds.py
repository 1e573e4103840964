"""Every kind of page: PAGES names a function for each, which opens it in a window of a World and returns the window.
Those in ADDRESSES are found in every language."""

import base64
import secrets
from dataclasses import dataclass

from django.conf import settings
from playwright.sync_api import expect

from retwis_site.store.client import connect
from tests.browser.support import steps
from tests.browser.support.served import outage
from tests.browser.support.world import BLOCKED, LONGEST_WORD
from timeline.posts.composer import DRAFT_COOKIE, NOBODY
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


@dataclass(frozen=True)
class At:
    """Opens `path` in the window `whose`. `{me}` and the like are filled in from the World."""

    whose: str
    path: str
    status: int = 200

    def __call__(self, world):
        page = getattr(world, self.whose)
        address = self.path.format(**vars(world))
        if self.status != 200:
            world.console.expects(self.status, address.partition("?")[0])
        answer = page.goto(address)
        assert answer.status == self.status
        return page


def register_with_errors(world):
    world.console.expects(422, "/register/")
    page = At("visitor", "/register/")(world)
    steps.fill_in_registration(page, "no such name!", "short", "other")
    expect(page.get_by_role("main").get_by_label("Username")).to_have_attribute("aria-invalid", "true")
    return page


def login_with_errors(world):
    world.console.expects(422, "/login/")
    page = At("visitor", "/login/")(world)
    steps.fill_in_login(page, "nobody_at_all", "nothing at all")
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def settings_with_errors(world):
    world.console.expects(422, "/settings/")
    page = At("member", "/settings/")(world)
    page.get_by_label("About you").fill("x" * 161)
    page.get_by_role("main").get_by_role("button", name="Save").click()
    expect(page.get_by_label("About you")).to_have_attribute("aria-invalid", "true")
    return page


def password_with_errors(world):
    world.console.expects(422, "/settings/password/")
    page = At("member", "/settings/password/")(world)
    page.get_by_label("Current password").fill("not mine")
    page.get_by_label("New password", exact=True).fill("short")
    page.get_by_label("Repeat new password").fill("other")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    return page


def deletion_with_errors(world):
    world.console.expects(422, "/settings/delete/")
    page = At("member", "/settings/delete/")(world)
    page.get_by_label("Current password").fill("not mine")
    page.get_by_role("button", name="Delete my account permanently").click()
    expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    return page


def home_with_a_text_that_is_too_long(world):
    world.console.expects(422, "/post/")
    page = At("member", "/")(world)
    steps.write(page, "x" * 281)
    expect(steps.composer(page)).to_have_attribute("aria-invalid", "true")
    return page


def home_with_a_draft(world):
    """With a text that was posted before the login."""
    page = world.member
    draft = f"{NOBODY}...{base64.urlsafe_b64encode(b'Not posted yet').decode()}"
    page.context.add_cookies([{"name": DRAFT_COOKIE, "value": draft, "url": world.site.browser.origin}])
    page.goto("/")
    expect(steps.composer(page)).to_have_value("Not posted yet")
    page.context.clear_cookies(name=DRAFT_COOKIE)
    return page


def a_form_of_another_user(world):
    world.console.expects(409, "/post/")
    page = At("member", "/")(world)
    page.evaluate("() => { document.querySelector('[name=as]').value = '2'; }")
    steps.write(page, LONGEST_WORD)
    expect(page.get_by_role("heading", name="Post as someone else?")).to_be_visible()
    return page


def profile_with_a_message(world):
    page = At("newcomer", "/@{me}/")(world)
    steps.follow_button(page, world.me).click()
    steps.said(page, f"You now follow {world.me}.")
    steps.unfollow_button(page, world.me).click()
    steps.said(page, f"You no longer follow {world.me}.")
    return page


def home_with_a_deletion_to_confirm(world):
    page = At("member", "/")(world)
    steps.write(page, "Not for long")
    own = steps.post(page, "Not for long").first
    steps.more(own).click()
    own.get_by_text("Delete", exact=True).click()
    expect(page.get_by_role("button", name="Yes, delete this post").first).to_be_visible()
    return page


def profile_with_an_open_menu(world):
    page = At("member", "/@{other}/")(world)
    page.get_by_role("link", name=f"More about {world.other}").click()
    expect(page.get_by_text(f"Mute {world.other}")).to_be_visible()
    return page


def home_with_something_new(world):
    """With a post that is new since the last visit."""
    world.member.goto("/")
    Posts(connect()).publish(world.other_uid, NewPost("New since the last visit"), secrets.token_hex(8))
    world.member.goto("/")
    expect(steps.post(world.member, "New since the last visit").first).to_be_visible()
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
    page = At("member", "/")(world)
    with outage(world.site, world.server):
        steps.write(page, LONGEST_WORD)
        expect(page.get_by_role("button", name="Send it again")).to_be_visible()
    return page


def a_form_from_before_a_login(world):
    world.console.expects(403, "/post/")
    page = At("member", "/")(world)
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    steps.write(page, LONGEST_WORD)
    expect(page.get_by_role("heading", name="Please send the form again")).to_be_visible()
    return page


def a_code_for_an_app(world):
    page = At("newcomer", "/oauth/authorize?{consent}")(world)
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(page.get_by_role("heading", name="Your code")).to_be_visible()
    return page


def a_post(world):
    page = At("member", "/@{other}/")(world)
    page.get_by_role("link", name=steps.AGE).first.click()
    expect(page.get_by_role("article")).to_have_count(1)
    return page


# What an address opens, in any language.
ADDRESSES = {
    "welcome": At("visitor", "/"),
    "register": At("visitor", "/register/"),
    "login": At("visitor", "/login/"),
    "home": At("member", "/"),
    "home, further back": At("member", "/?before={newest}"),
    "home, empty": At("newcomer", "/"),
    "everyone": At("member", "/timeline/"),
    "everyone, to a visitor": At("visitor", "/timeline/"),
    "everyone, further back": At("visitor", "/timeline/?before={newest}"),
    "explore": At("member", "/explore/"),
    "explore, to a visitor": At("visitor", "/explore/"),
    "own profile": At("member", "/@{me}/"),
    "own profile, empty": At("newcomer", "/@Newcomer/"),
    "profile": At("member", "/@{other}/"),
    "profile, empty": At("member", "/@Newcomer/"),
    "profile, to a visitor": At("visitor", "/@{other}/"),
    "followers": At("member", "/@{me}/followers/"),
    "followers, none": At("member", "/@Newcomer/followers/"),
    "following": At("visitor", "/@{me}/following/"),
    "following, none": At("member", "/@Newcomer/following/"),
    "followers, mutual": At("member", "/@{me}/followers/?show=mutual"),
    "following, none not followed back": At("member", "/@{me}/following/?show=not-followed-back"),
    "profile, with every detail": At("member", "/@Rapunzel/"),
    "people": At("member", "/people/"),
    "people, to a visitor": At("visitor", "/people/?by=followers"),
    "people, found": At("member", "/people/?q=Follower"),
    "people, no one found": At("visitor", "/people/?q=nobody_at_all"),
    "search": At("member", "/search/"),
    "search, to a visitor": At("visitor", "/search/"),
    "search, found": At("member", "/search/?q=bread"),
    "search, nothing found": At("member", "/search/?q=nobody_writes_this&in=saved"),
    "search, a text that is no query": At("visitor", "/search/?q=before:today", 400),
    "profile, posts and replies": At("member", "/@{other}/replies/"),
    "thread": At("member", "/@{me}/{mine}/"),
    "thread, to a visitor": At("visitor", "/@{me}/{mine}/"),
    "all actions on a post": At("member", "/@{other}/{theirs}/more/"),
    "all actions on an own post": At("member", "/@{me}/{mine}/more/"),
    "all actions on a post, to a visitor": At("visitor", "/@{me}/{mine}/more/"),
    "repost or quote": At("member", "/@{other}/{theirs}/repost-or-quote/"),
    "all about a person": At("member", "/@{other}/more/"),
    "all about a person, to a visitor": At("visitor", "/@{other}/more/"),
    "quotes": At("member", "/@{me}/{mine}/quotes/"),
    "likes of a post": At("member", "/@{me}/{mine}/likes/"),
    "reposts of a post": At("visitor", "/@{me}/{mine}/reposts/"),
    "likes": At("member", "/likes/"),
    "bookmarks": At("member", "/bookmarks/"),
    "notifications": At("member", "/notifications/"),
    "kinds of notifications": At("member", "/settings/notifications/"),
    "blocked and muted people": At("member", "/settings/blocks/"),
    "muted words": At("member", "/settings/words/"),
    "a tag": At("member", "/tags/bread/"),
    "a tag, to a visitor": At("visitor", "/tags/bread/"),
    "followed tags": At("admin", "/tags/"),
    "followed tags, none": At("member", "/tags/"),
    "compose": At("member", "/compose/"),
    "compose, a reply": At("member", "/compose/?reply_to={newest}"),
    "edit": At("member", "/@{me}/{mine}/edit/"),
    "history": At("visitor", "/@{me}/{mine}/history/"),
    "a post with pictures": At("visitor", "/@{me}/{pictured}/"),
    "picture": At("visitor", "/@{me}/{pictured}/pictures/1/"),
    "first steps": At("newcomer", "/first-steps/"),
    "settings": At("member", "/settings/"),
    "password": At("member", "/settings/password/"),
    "devices": At("member", "/settings/sessions/"),
    "log out everywhere": At("member", "/settings/sessions/everywhere/"),
    "apps": At("member", "/settings/apps/"),
    "apps, none": At("newcomer", "/settings/apps/"),
    "an app asks": At("member", "/oauth/authorize?{consent}"),
    "an app asks for the password, too": At("member", "/oauth/authorize?{consent}&force_login=true"),
    "an unknown app asks": At("member", "/oauth/authorize", 400),
    "recovery codes": At("member", "/settings/recovery/"),
    "login security": At("member", "/settings/security/"),
    "a new app": At("member", "/settings/security/totp/add/"),
    "a new passkey": At("member", "/settings/security/passkeys/add/"),
    "recover": At("visitor", "/recover/"),
    "a link that has ended": At("visitor", "/reset/ended/", 410),
    "delete account": At("member", "/settings/delete/"),
    "language": At("member", "/settings/language/"),
    "appearance": At("member", "/settings/appearance/"),
    "appearance, to a visitor": At("visitor", "/settings/appearance/"),
    "invitations": At("member", "/settings/invites/"),
    "an invitation": At("visitor", "/invited/{invitation}/"),
    "the book": At("visitor", "/book/"),
    "a chapter": At("member", "/book/caches/"),
    "about": At("visitor", "/about/"),
    "rules": At("visitor", "/rules/"),
    "privacy": At("visitor", "/privacy/"),
    "report a person": At("member", "/@{other}/report/"),
    "report a post": At("member", "/@{other}/{theirs}/report/"),
    "reported": At("member", "/@{other}/reported/"),
    "home, frozen": At("frozen", "/"),
    "appeal": At("frozen", "/appeal/"),
    "moderation": At("admin", "/moderation/"),
    "a report": At("admin", "/moderation/reports/{report}/"),
    "people, to staff": At("admin", "/moderation/people/?q=Follower"),
    "a person, to staff": At("admin", "/moderation/people/{other}/"),
    "a post, to staff": At("admin", "/moderation/people/{other}/{theirs}/"),
    "new members, to staff": At("admin", "/moderation/new/"),
    "a frozen person, to staff": At("admin", "/moderation/people/Frozen/"),
    "what staff has done": At("admin", "/moderation/log/"),
    "a blocked picture, to staff": At("admin", f"/moderation/log/{{blocked}}/{BLOCKED}/"),
    "who wants to join": At("admin", "/moderation/joining/"),
    "the site, to staff": At("admin", "/moderation/site/"),
    "offline": At("visitor", "/offline/"),
    "400": At("member", "/?before=nonsense", 400),
    "404": At("visitor", "/@nobody_at_all/", 404),
    "405": At("visitor", "/post/", 405),
    "410": At("visitor", "/@{other}/{deleted}/", 410),
    "410, of a deleted account": At("visitor", "/@{left}/", 410),
}
# What people's acts open, in English.
ACTS = {
    "register, with errors": register_with_errors,
    "login, with errors": login_with_errors,
    "home, with errors": home_with_a_text_that_is_too_long,
    "home, a deletion to confirm": home_with_a_deletion_to_confirm,
    "home, with a draft": home_with_a_draft,
    "profile, with a message": profile_with_a_message,
    "profile, with an open menu": profile_with_an_open_menu,
    "home, something new": home_with_something_new,
    "home, something arrives": home_when_something_arrives,
    "a post": a_post,
    "a code for an app": a_code_for_an_app,
    "settings, with errors": settings_with_errors,
    "password, with errors": password_with_errors,
    "delete account, with errors": deletion_with_errors,
    "403": a_form_from_before_a_login,
    "409": a_form_of_another_user,
    "503": home_in_an_outage,
    "503, with a text": a_text_in_an_outage,
}
PAGES = ADDRESSES | ACTS
# The pages of the inspector, which only a site with INSPECT=1 has. There is a user 1.
INSPECTED = ("/inspect/", "/inspect/user:1", "/inspect/updates:1", "/inspect/auths")
