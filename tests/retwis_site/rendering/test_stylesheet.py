"""The stylesheet: one file, small, in both themes legible; and what pages say of the theme."""

import gzip
import re
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.contrast import contrast

FILE = Path(settings.BASE_DIR) / "retwis_site/static/retwis.css"
CSS = re.sub(r"/\*.*?\*/", "", FILE.read_text(), flags=re.DOTALL)
MOST = 15 * 1024  # bytes, compressed
SYSTEM_DARK = "@media screen and (prefers-color-scheme: dark)"
CHOSEN_DARK = ":root[data-theme=dark]"

# What is read, on what it stands: 4.5 to 1.
TEXTS = [
    *product(["--ink", "--muted", "--link"], ["--paper", "--surface", "--sunken"]),
    *product(["--ink", "--link"], ["--good-wash"]),
    *product(["--danger"], ["--surface", "--danger-wash"]),
    ("--surface", "--danger"),
    *product(["--on-call"], ["--call", "--call-lit", "--marigold"]),
]
# What shows where a control is, or which one: 3 to 1.
EDGES = [
    *product(["--edge"], ["--paper", "--surface", "--sunken"]),
    *product(["--call-edge", "--link", "--danger"], ["--paper", "--surface"]),
]
# The same in the header, which has some colours of its own.
HEADER_TEXTS = [(name, "--pine") for name in ("--ink", "--muted", "--link")]
HEADER_EDGES = [(name, "--pine") for name in ("--edge", "--marigold", "--call")]


def tokens(selector, after=0):
    """The colours that a block gives names, as they stand there."""
    start = CSS.index("{", CSS.index(selector, after)) + 1
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6});", CSS[start : CSS.index("}", start)]))


def resolved(names):
    """A header's `var(--mint)` is left out of `tokens`: it is the same in both themes."""
    return {**names, "--link": names["--mint"]}


LIGHT = tokens(":root")
DARK = {**LIGHT, **tokens(CHOSEN_DARK)}
HEADER = tokens(".top, .pitch")
THEMES = {"light": LIGHT, "dark": DARK}


def too_faint(names, pairs, least):
    found = {pair: round(contrast(names[pair[0]], names[pair[1]]), 2) for pair in pairs}
    return {pair: measured for pair, measured in found.items() if measured < least}


# ---- colours


def test_contrast_is_measured_as_the_standard_does():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777", "#fff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_controls_stand_out_in_both_themes(theme):
    assert too_faint(THEMES[theme], TEXTS, 4.5) == {}
    assert too_faint(THEMES[theme], EDGES, 3) == {}


@pytest.mark.parametrize("theme", THEMES)
def test_so_they_do_in_the_header(theme):
    names = resolved({**THEMES[theme], **HEADER})
    assert too_faint(names, HEADER_TEXTS, 4.5) == {}
    assert too_faint(names, HEADER_EDGES, 3) == {}


def test_dark_is_the_same_by_system_and_by_choice():
    by_system = tokens(":root:not([data-theme=light])", CSS.index(SYSTEM_DARK))
    assert by_system == tokens(CHOSEN_DARK)
    assert len(by_system) > 10


def test_every_colour_has_a_name():
    rules = re.sub(r"--[\w-]+:[^;]*;", "", CSS)
    assert re.findall(r"#[0-9a-f]{3,8}\b", rules) == []


def test_every_name_that_is_used_is_given():
    assert set(re.findall(r"var\((--[\w-]+)\)", CSS)) <= set(re.findall(r"(--[\w-]+):", CSS))


# ---- the file


def test_it_is_small_and_takes_nothing_from_anywhere():
    assert len(gzip.compress(FILE.read_bytes(), 9)) < MOST
    assert not re.search(r"@import|url\(|https?:|expression", CSS)


def test_it_finds_nothing_by_what_pages_say_which_is_another_thing_in_each_language():
    assert not re.findall(r"\[(?:aria-label|alt|title|placeholder|lang)\b[^]]*\]", CSS)


def test_what_moves_moves_only_for_those_who_like_it():
    quiet = CSS.index("@media (prefers-reduced-motion: no-preference)")
    moving = [found.start() for found in re.finditer(r"transition|animation|scroll-behavior", CSS)]
    assert moving
    assert all(quiet < place < CSS.index("@media", quiet + 1) for place in moving)


def test_it_says_nothing_of_left_and_right_but_where_the_screen_ends():
    """Pages are written from right to left too."""
    both_ways = re.sub(r"\[dir=rtl\][^}]*}", "", CSS)
    sides = re.findall(r"[^;{]*\b(?:left|right)\b[^;}]*", both_ways)
    assert [line for line in sides if "safe-area-inset" not in line] == []
    assert not re.search(r"border-(?:top|bottom)-\w+-radius|float:|clear:", CSS)


# ---- what pages say


def told(page, name):
    """The page's `<meta>` of that name, each with its other attributes."""
    return re.findall(rf'<meta name="{name}" content="([^"]*)"([^>]*)>', page)


@pytest.mark.parametrize("url", ["/", "/login/", "/nothing/"])
def test_a_page_tells_the_browser_its_colours(browser, url):
    headers = {"light": LIGHT["--pine"], "dark": DARK["--pine"]}
    client = browser()
    page = client.get(url).content.decode()
    assert told(page, "color-scheme") == [("light dark", "")]
    media = {theme: f' media="(prefers-color-scheme: {theme})"' for theme in headers}
    assert told(page, "theme-color") == [(headers[theme], media[theme]) for theme in headers]
    for theme, colour in headers.items():
        client.cookies["theme"] = theme
        page = client.get(url).content.decode()
        assert f'<html lang="en" dir="ltr" data-theme="{theme}">' in page
        assert told(page, "color-scheme") == [(theme, "")]
        assert told(page, "theme-color") == [(colour, "")]


@pytest.mark.parametrize(("url", "kind"), [("/favicon.ico", "image/x-icon"), ("/apple-touch-icon.png", "image/png")])
def test_browsers_find_the_pictures_that_they_ask_for_unbidden(browser, url, kind):
    answer = browser().get(url)
    assert (answer.status_code, answer["Content-Type"]) == (200, kind)
    assert len(answer.getvalue()) < 4096


# ---- where one is


CURRENT = re.compile(r'<a (?:class="me" )?href="([^"]+)"[^>]* aria-current="page"')


@pytest.mark.parametrize(
    ("url", "current"),
    [
        ("/", ["/"]),
        ("/timeline/", ["/timeline/"]),
        ("/@Alice/", ["/@Alice/"]),
        ("/@bob/", []),
        ("/@bob/followers/", ["/@bob/followers/"]),
        ("/settings/appearance/", ["/settings/appearance/"]),
        ("/nothing/", []),
    ],
)
def test_the_link_to_the_present_page_says_so(browser, alice, bob, url, current):
    assert CURRENT.findall(browser(alice).get(url).content.decode()) == current


@pytest.mark.parametrize("url", ["/", "/timeline/", "/login/", "/register/", "/settings/appearance/"])
def test_it_does_for_visitors_too(browser, url):
    assert CURRENT.findall(browser().get(url).content.decode()) == [url]
