"""A site with long names, long words and every kind of relation, and a window for each kind of visitor."""

import contextlib
import itertools
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.community.acts import Roles, StaffNotes
from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions
from accounts.facts.facts import Fact, save_profile
from accounts.joining.joining import Invitations, Joining
from accounts.media.repository import Pictures
from accounts.signing_in.tokens import SCOPES
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State
from accounts.users.names import NameIndex
from retwis_site.store.client import connect
from tests.browser.support.console import Console
from tests.browser.support.windows import WITHIN, sign_in
from tests.support.people import register
from tests.support.pictures import decoded_picture
from tests.support.protocols.reports import report
from tests.support.stored_keys import publish
from timeline.moderation.reports import Action, Reports
from timeline.posts.delivery import Reposts
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HomeTags
from timeline.relations.relations import Bookmarks, Follows, Likes, TagFollows
from timeline.search.index import Indexing

LONGEST_NAME = "Wolfeschlegelsteinhausenberger"
LONG_DISPLAY_NAME = "نور الهدى " * 4 + "W" * 10
BLOCKED = "f" * 40  # a picture
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
    """The people and their windows. `visitor` is not signed in, `member` has a full home, `newcomer` an empty one.
    `reader` is a second window of the member, with a clock that tests move forward. `admin` has a report and an appeal
    to decide; `frozen` may write nothing. `mine` is a post of the member that others have answered, quoted, liked and
    reposted, `pictured` one with pictures; `theirs` is a post of the other; nobody has decided `report`, and nobody has
    used `invitation`. `consent` is what an app asks that may already act for the member; at `blocked` staff has blocked
    a picture."""

    site: Any
    server: Any
    console: Console
    visitor: Page
    member: Page
    newcomer: Page
    reader: Page
    admin: Page
    frozen: Page
    me: str
    other: str
    other_uid: int
    newest: int
    mine: int
    theirs: int
    pictured: int
    deleted: int
    left: str
    report: int
    invitation: str
    consent: str
    blocked: int


def converse(store, pid, author, others):
    """The others act on the post in every way: it is answered on several levels, quoted, liked and reposted."""
    mine, they = author.user.uid, [them.user.uid for them in others]
    below = pid
    for number, uid in enumerate([they[0], mine, they[1], mine]):
        new = NewPost(f"@{author.user.username} {BODIES[number]} #{LONGEST_NAME} #bread", reply_to=below)
        below = Posts(store).publish(uid, new, secrets.token_hex(8)).pid
        if number == 1:
            fork = below
    Posts(store).publish(they[2], NewPost(LONGEST_WORD, reply_to=fork), secrets.token_hex(8))
    for uid in they[:2]:
        Posts(store).publish(uid, NewPost(LONGEST_WORD, quote=pid), secrets.token_hex(8))
    for uid in they:
        Likes(store).like(uid, pid, mine)
        Reposts(store).repost(uid, pid, mine)
    Likes(store).like(mine, below, mine)
    Bookmarks(store).add(mine, pid, mine)


def moderate(store, admin, reporter, author, pid):
    """The admin is given something to do. Returns the id of an open report, and the login of a frozen user who has
    appealed."""
    Roles(store).give(admin.user.uid, Role.ADMIN)
    frozen = register(store, "Frozen")
    decided = report(store, reporter.user.uid, author.user.uid, pid, body=LONGEST_WORD)
    Reports(store).decide(decided, admin.user.uid, [Action.WARN], f"Too long: {LONGEST_WORD}")
    Sanctions(store).impose(frozen.user.uid, State.FROZEN, LONGEST_WORD, by=admin.user.uid)
    Sanctions(store).appeal(frozen.user.uid, LONGEST_WORD)
    Joining(store).join("approval", "W" * 30, "hash", LONGEST_WORD, "")
    return report(store, reporter.user.uid, author.user.uid, note=LONGEST_WORD).rid, frozen


def with_pictures(store, author):
    """A post with two pictures, one of which is described. Returns its id."""
    pictures = [decoded_picture(colour) for colour in ("red", "blue")]
    for one in pictures:
        Pictures(store).add(author.user.uid, one)
    red, blue = [Picture(one.digest) for one in pictures]
    new = NewPost("Two colours", media=Media((red._replace(alt=LONGEST_WORD), blue)))
    return Posts(store).publish(author.user.uid, new, secrets.token_hex(8)).pid


def with_an_app(store, login):
    """An app may do everything for a user. Returns the query with which it asks for it, to get a code."""
    app, _ = Apps(store).register(LONGEST_WORD[:60], f"https://192.0.2.1/{LONGEST_WORD}", [OUT_OF_BAND], SCOPES)
    Tokens(store).issue(Code(login.user.uid, "", app.id, app.scopes, OUT_OF_BAND))
    asked = {"response_type": "code", "client_id": app.id, "redirect_uri": OUT_OF_BAND, "scope": " ".join(app.scopes)}
    return urlencode(asked)


def with_a_blocked_picture(store, admin, them):
    """Staff has removed a picture of theirs, and blocked it. Returns when, in unix milliseconds."""
    act = Act(what="picture:removed", by=admin.user.uid, whom=them.user.uid, reason=LONGEST_WORD, also=BLOCKED)
    Pictures(store).block(act.also)
    Log(store).write(act)
    return act.at


@contextlib.contextmanager
def opened_world(chromium, site, real_server):
    """A World in `site`. All tests of a module share its windows, since opening a window is slow."""
    store, raw = connect(), real_server.admin
    me, other, newcomer = (register(store, name) for name in ("Astrid", LONGEST_NAME, "Newcomer"))
    crowd = [register(store, f"Follower_{number}") for number in range(25)]
    for them in [other, *crowd]:
        Follows(store).follow(me.user.uid, them.user.uid)
        Follows(store).follow(them.user.uid, me.user.uid)
    mine = publish(raw, store, me, "Written in haste")
    Posts(store).edit(me.user.uid, mine, f"{LONGEST_WORD}\n\nWritten at leisure")
    converse(store, mine, me, [other, *crowd[:3]])
    admin = register(store, "Admin_of_all")
    theirs = publish(raw, store, other, LONGEST_WORD)
    open_report, frozen = moderate(store, admin, me, other, theirs)
    for number, author in enumerate(itertools.islice(itertools.cycle([other, me, crowd[0]]), 24)):
        newest = publish(raw, store, author, f"{BODIES[number % len(BODIES)][:270]} {number}")
    rapunzel = register(store, "Rapunzel")
    for them in crowd[:5]:
        Follows(store).follow(them.user.uid, rapunzel.user.uid)
    Follows(store).follow(rapunzel.user.uid, me.user.uid)
    for login in [rapunzel, other, crowd[0]]:
        viewer = Viewer(store, login.secret).require_user()
        NameIndex(store).edit(viewer, LONG_DISPLAY_NAME, f"{BODIES[2][:120]} אבג")
    facts = [Fact("Web", f"https://192.0.2.1/{LONGEST_WORD[:150]}"), Fact("Pronouns", "she/her")]
    save_profile(store, Viewer(store, rapunzel.secret).require_user(), LONG_DISPLAY_NAME, BODIES[0], facts, "")
    TagFollows(store).follow(admin.user.uid, "bread")
    HomeTags(store).add(admin.user.uid, "bread")
    StaffNotes(store).add(rapunzel.user.uid, admin.user.uid, LONGEST_WORD)
    pictured = with_pictures(store, me)
    left = register(store, "Leaver")
    AccountDeletion(store).delete(left.user, left.secret)
    deleted = publish(raw, store, other, "Not for long")
    Posts(store).delete(other.user.uid, deleted)
    Indexing(store).index(range(1, deleted))
    console = Console(site.browser.origin)
    with contextlib.ExitStack() as windows:

        def window(login=None):
            # Without motion: axe must not see a colour in the middle of a transition.
            context = chromium.new_context(base_url=site.browser.origin, reduced_motion="reduce")
            windows.callback(context.close)
            context.set_default_timeout(WITHIN)
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
            window(admin),
            window(frozen),
            me.user.username,
            other.user.username,
            other.user.uid,
            newest,
            mine,
            theirs,
            pictured,
            deleted,
            left.user.username,
            open_report,
            Invitations(store).make(me.user.uid).code,
            with_an_app(store, me),
            with_a_blocked_picture(store, admin, other),
        )
