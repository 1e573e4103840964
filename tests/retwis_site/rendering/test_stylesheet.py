"""The stylesheet: one small file, legible in both themes; and how pages name their theme."""

import gzip
import re
from itertools import product

import pytest
from django.conf import settings

from retwis_site.identity import COLOURS
from tests.support.contrast import contrast

FILE = settings.BASE_DIR / "retwis_site/static/retwis.css"
CSS = re.sub(r"/\*.*?\*/", "", FILE.read_text(), flags=re.DOTALL)
MAX_SIZE = 15 * 1024  # bytes, compressed
SYSTEM_DARK = "@media screen and (prefers-color-scheme: dark)"
CHOSEN_DARK = ":root[data-theme=dark]"

# Text and its background: a contrast of 4.5 to 1.
TEXTS = [
    *product(["--ink", "--muted", "--link"], ["--paper", "--surface", "--sunken"]),
    *product(["--ink", "--link"], ["--good-wash"]),
    *product(["--danger"], ["--surface", "--danger-wash"]),
    ("--surface", "--danger"),
    *product(["--on-call"], ["--call", "--call-lit"]),
]
# The edge of a control, or its state: 3 to 1.
EDGES = [
    *product(["--edge"], ["--paper", "--surface", "--sunken"]),
    *product(["--call-edge", "--link", "--danger"], ["--paper", "--surface"]),
]
# The welcome has some colours of its own.
PITCH_TEXTS = [(name, "--pine") for name in ("--ink", "--muted", "--link")]
PITCH_EDGES = [(name, "--pine") for name in ("--edge", "--call")]


def tokens(selector, after=0):
    """The colours that a block assigns to variables, by variable."""
    start = CSS.index("{", CSS.index(selector, after)) + 1
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6});", CSS[start : CSS.index("}", start)]))


def with_own_link(names):
    """Adds the welcome's `--link: var(--mint)`, which `tokens` does not read."""
    return {**names, "--link": names["--mint"]}


LIGHT = tokens(":root")
DARK = {**LIGHT, **tokens(CHOSEN_DARK)}
PITCH = tokens(".pitch")
THEMES = {"light": LIGHT, "dark": DARK}


def too_faint(names, pairs, minimum):
    ratios = {pair: round(contrast(names[pair[0]], names[pair[1]]), 2) for pair in pairs}
    return {pair: ratio for pair, ratio in ratios.items() if ratio < minimum}


# ---- colours


def test_contrast_is_computed_as_in_the_standard():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777", "#fff") == pytest.approx(4.48, abs=0.005)


def is_legible(names):
    pitch = with_own_link({**names, **PITCH})
    assert too_faint(names, TEXTS, 4.5) == too_faint(pitch, PITCH_TEXTS, 4.5) == {}
    assert too_faint(names, EDGES, 3) == too_faint(pitch, PITCH_EDGES, 3) == {}


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_controls_have_enough_contrast_in_both_themes_and_on_the_welcome(theme):
    is_legible(THEMES[theme])


@pytest.mark.parametrize("colour", COLOURS[1:])
def test_each_colour_of_a_site_has_enough_contrast_in_both_themes(colour):
    own = tokens(f":root[data-colour={colour}]")
    own_dark = tokens(f":root[data-theme=dark][data-colour={colour}]")
    assert own_dark == tokens(f":root:not([data-theme=light])[data-colour={colour}]")
    is_legible({**LIGHT, **own})
    is_legible({**DARK, **own, **own_dark})


def test_the_dark_theme_is_the_same_by_system_and_by_choice():
    by_system = tokens(":root:not([data-theme=light])", CSS.index(SYSTEM_DARK))
    assert by_system == tokens(CHOSEN_DARK)
    assert len(by_system) > 10


def test_every_colour_has_a_name():
    rules = re.sub(r"--[\w-]+:[^;]*;", "", CSS)
    assert re.findall(r"#[0-9a-f]{3,8}\b", rules) == []


def test_every_used_variable_is_defined():
    assert set(re.findall(r"var\((--[\w-]+)\)", CSS)) <= set(re.findall(r"(--[\w-]+):", CSS))


# ---- the file


def test_the_stylesheet_is_small_and_loads_only_its_icons():
    assert len(gzip.compress(FILE.read_bytes(), 9)) < MAX_SIZE
    assert not re.search(r"@import|url\(|https?:|expression", CSS.replace('url("icons.svg")', ""))


def test_no_selector_depends_on_translated_attributes():
    assert not re.findall(r"\[(?:aria-label|alt|title|placeholder|lang)\b[^]]*\]", CSS)


def test_transitions_respect_prefers_reduced_motion():  # those of 0 s only wait, and `none` ends them
    start = CSS.index("@media (prefers-reduced-motion: no-preference)")
    moving = [match.start() for match in re.finditer(r"transition(?!: all 0s|: none)|animation|scroll-behavior", CSS)]
    assert moving
    assert all(start < place < CSS.index("@media", start + 1) for place in moving)


def test_left_and_right_are_used_only_for_the_edges_of_the_screen():
    """Pages are also shown from right to left. A rule may say that it is for one of the two."""
    for_both = re.sub(r"\[dir=(?:ltr|rtl)\][^}]*}", "", CSS)
    sides = re.findall(r"[^;{]*\b(?:left|right)\b[^;}]*", for_both)
    assert [line for line in sides if "safe-area-inset" not in line] == []
    assert not re.search(r"border-(?:top|bottom)-\w+-radius|float:|clear:", CSS)


# ---- the theme of a page


def metas(page, name):
    """The content and the other attributes of each `<meta>` with this name."""
    return re.findall(rf'<meta name="{name}" content="([^"]*)"([^>]*)>', page)


@pytest.mark.parametrize("url", ["/", "/login/", "/nothing/"])
def test_a_page_names_its_theme_and_colours(browser, url):
    papers = {"light": LIGHT["--paper"], "dark": DARK["--paper"]}
    client = browser()
    page = client.get(url).content.decode()
    assert metas(page, "color-scheme") == [("light dark", "")]
    media = {theme: f' media="(prefers-color-scheme: {theme})"' for theme in papers}
    assert metas(page, "theme-color") == [(papers[theme], media[theme]) for theme in papers]
    for theme, colour in papers.items():
        client.cookies["theme"] = theme
        page = client.get(url).content.decode()
        assert f'<html lang="en" dir="ltr" data-theme="{theme}" data-colour="pine">' in page
        assert metas(page, "color-scheme") == [(theme, "")]
        assert metas(page, "theme-color") == [(colour, "")]


@pytest.mark.parametrize(("url", "kind"), [("/favicon.ico", "image/x-icon"), ("/apple-touch-icon.png", "image/png")])
def test_the_icons_that_browsers_ask_for_exist(browser, url, kind):
    answer = browser().get(url)
    assert (answer.status_code, answer["Content-Type"]) == (200, kind)
    assert len(answer.getvalue()) < 4096


# ---- the current page


CURRENT = re.compile(r'<a (?:class="[a-z-]+" )?href="([^"]+)"[^>]* aria-current="page"')


@pytest.mark.parametrize(
    ("url", "current"),
    [
        ("/", ["/"]),
        ("/timeline/", ["/timeline/"]),
        ("/@Alice/", ["/@Alice/", "/@Alice/"]),  # in the navigation, and among the tabs
        ("/@bob/", ["/@bob/"]),
        ("/@bob/followers/", ["/@bob/followers/"]),
        ("/settings/appearance/", ["/settings/appearance/"]),
        ("/nothing/", []),
    ],
)
def test_the_link_to_the_current_page_is_marked(browser, alice, bob, url, current):
    assert CURRENT.findall(browser(alice).get(url).content.decode()) == current


@pytest.mark.parametrize("url", ["/", "/timeline/", "/login/", "/register/", "/settings/appearance/"])
def test_the_link_to_the_current_page_is_marked_for_visitors(browser, url):
    assert CURRENT.findall(browser().get(url).content.decode()) == [url]
