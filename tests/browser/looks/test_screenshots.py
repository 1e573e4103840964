"""The README's screenshots of a small community. `make screenshots` saves them; otherwise the test only takes them."""

import io
import os
import secrets
import time

import pytest
from django.conf import settings
from PIL import Image
from playwright.sync_api import expect

from retwis_site.store.client import connect
from tests.browser.support.served import serving
from tests.browser.support.steps import AGE, post
from tests.browser.support.windows import PHONE, WIDE, sign_in
from tests.support.people import register
from tests.support.stored_keys import publish
from tests.support.stores.store_faults import a_server
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Bookmarks, Follows, Likes

SHOWN = settings.BASE_DIR / "docs/screenshots"
LARGEST = 100_000  # bytes; the README loads them all

ME = "Mara"
PEOPLE = ["Ines_Costa", "kofi_bakes", ME, "Wren", "old_lighthouse", "Jonas", "Priya", "tomo"]
FOLLOWED = ["Ines_Costa", "kofi_bakes", "Wren", "old_lighthouse", "Priya"]
# Who wrote what, and how many minutes ago; she was here before the last four.
READ = [
    (9000, "Jonas", "Moved the tomatoes to the south window. They look offended, but taller."),
    (8000, "Ines_Costa", "The library sold its card catalogue. I now own the drawer from Lem to Lit."),
    (7000, "Wren", "Counted swifts from the roof: eleven. Last year it was four."),
    (4300, "tomo", "First frost. Everybody on the tram smells of wardrobe."),
    (3000, "kofi_bakes", "Rye at 80 % hydration is less a dough than a rumour of one."),
    (2880, "Ines_Costa", "Six weeks of evening classes and I can finally order soup with confidence."),
    (1500, "old_lighthouse", "Fog until ten, then the whole coast at once, like a curtain going up."),
    (1440, ME, "Bread on the table, rain on the window, nothing planned. Good Sunday."),
    (600, "Priya", "Debugged for three hours. It was the daylight saving time. It is always the daylight saving time."),
]
NEW = [
    (190, "Wren", "The heron is back at the mill pond, pretending not to know any of us."),
    (
        65,
        "kofi_bakes",
        "Notes on the sourdough that worked: https://example.org/bread/notes Thanks for the rye, @Mara!",
    ),
    (22, "Ines_Costa", "Found a 1961 guide to the night trains of Europe. Half of them are coming back."),
    (4, "old_lighthouse", "Lamp cleaned, log written, kettle on. Wind from the west, force 3."),
]
# Who answers the one before, and how many minutes ago; the first answers the night trains.
ANSWERS = [
    (17, "tomo", "Which ones? I would sleep badly for Vienna."),
    (12, "Ines_Costa", "Vienna, Rome, and one that only says 'the north'."),
    (3, "Wren", "Take me with you to the north."),
]
# Who likes the newest posts, the newest first.
LIKED_BY = [["Mara"], ["Mara", "tomo", "Wren", "Jonas"], ["Ines_Costa", "Priya"], ["Jonas", "tomo", "kofi_bakes"]]


@pytest.fixture
def folder(tmp_path):
    return SHOWN if os.environ.get("SCREENSHOTS") else tmp_path


@pytest.fixture
def community(moved, tmp_path):
    """A site of its own: the address, and who looks at it. She has read what was there yesterday."""
    with a_server() as server:
        server.start()
        moved(server.url)
        people = {name: register(connect(), name) for name in PEOPLE}
        follows = Follows(connect())
        for name in FOLLOWED:
            follows.follow(people[ME].user.uid, people[name].user.uid)
        for name in ("Ines_Costa", "Wren", "Jonas"):
            follows.follow(people[name].user.uid, people[ME].user.uid)
            follows.follow(people[name].user.uid, people["old_lighthouse"].user.uid)

        def written(posts):
            return [
                aged(publish(server.admin, connect(), people[name], body), minutes) for minutes, name, body in posts
            ]

        def aged(pid, minutes):
            """In the middle of its minute, so that its age reads the same in every picture."""
            server.admin.hset(f"post:{pid}", "time", int(time.time()) - minutes * 60 - 20)
            return pid

        def go_on():
            newest = written(NEW)
            below = trains = newest[2]
            for minutes, name, body in ANSWERS:
                answer = NewPost(body, reply_to=below)
                below = aged(Posts(connect()).publish(people[name].user.uid, answer, secrets.token_hex(8)).pid, minutes)
            for pid, (_, author, _), names in zip(reversed(newest), reversed(NEW), LIKED_BY, strict=True):
                for name in names:
                    Likes(connect()).like(people[name].user.uid, pid, people[author].user.uid)
            Reposts(connect()).repost(people["Priya"].user.uid, trains, people["Ines_Costa"].user.uid)
            Bookmarks(connect()).add(people[ME].user.uid, trains, people["Ines_Costa"].user.uid)

        written(READ)
        with serving(tmp_path, server.url) as site:
            yield site.browser.origin, people[ME], go_on


def keep(page, path):
    """The window as a PNG of few colours, a third as large."""
    page.evaluate("() => document.fonts.ready")
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    picture.quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)
    assert picture.size == (page.viewport_size["width"], page.viewport_size["height"])
    assert path.stat().st_size < LARGEST


def test_the_pictures_of_the_readme(chromium, community, folder):
    origin, me, go_on = community
    context = chromium.new_context(base_url=origin, viewport=WIDE, reduced_motion="reduce")
    try:
        sign_in(context, me, origin)
        page = context.new_page()
        page.goto("/")
        expect(page.get_by_role("article")).not_to_have_count(0)
        go_on()
        page.goto("/")
        expect(post(page, "Lamp cleaned")).to_be_visible()
        keep(page, folder / "home.png")
        page.emulate_media(color_scheme="dark")
        keep(page, folder / "dark.png")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(PHONE)
        keep(page, folder / "phone.png")
        page.set_viewport_size(WIDE)
        page.goto("/@Ines_Costa/")
        keep(page, folder / "profile.png")
        post(page, "night trains").get_by_role("link", name=AGE).click()
        expect(page.get_by_role("article")).to_have_count(1 + len(ANSWERS))
        keep(page, folder / "post.png")
        page.goto("/timeline/")
        expect(page.get_by_role("article")).to_have_count(len(READ + NEW + ANSWERS))
        keep(page, folder / "everyone.png")
    finally:
        context.close()


def test_the_readme_shows_every_picture_that_is_taken():
    taken = {path.name for path in SHOWN.glob("*.png")}
    readme = (settings.BASE_DIR / "README.md").read_text()
    assert taken == {"home.png", "dark.png", "phone.png", "profile.png", "post.png", "everyone.png"}
    assert {name for name in taken if f"docs/screenshots/{name}" not in readme} == set()
