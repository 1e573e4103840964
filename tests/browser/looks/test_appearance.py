"""Light or dark like the system, or as one has chosen. The browser keeps the choice, also after a logout."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import findings
from tests.browser.support.steps import log_out, said, stayed, stays
from tests.browser.support.themes import is_dark


def choose(page, what):
    page.goto("/settings/appearance/")
    page.get_by_role("main").get_by_role("radio", name=what).check()
    page.get_by_role("main").get_by_role("button", name="Save").click()
    expect(page).not_to_have_url("/settings/appearance/")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize(("system", "choice"), [("light", "Dark"), ("dark", "Light")])
def test_the_choice_beats_the_system_until_it_is_taken_back(window, alice, system, choice, scripts):
    page = window(alice, color_scheme=system, java_script_enabled=scripts)
    choose(page, choice)
    for path in ("/", "/timeline/", "/settings/appearance/"):
        page.goto(path)
        assert is_dark(page) == (choice == "Dark")
    expect(page.get_by_role("radio", name=choice)).to_be_checked()
    choose(page, "Use system setting")
    assert is_dark(page) == (system == "dark")


@pytest.mark.gate
def test_a_visitor_chooses_too_and_a_logout_changes_nothing(window, alice):
    visitor = window(color_scheme="light")
    choose(visitor, "Dark")
    assert is_dark(visitor)
    page = window(alice, color_scheme="light")
    choose(page, "Dark")
    log_out(page)
    said(page, "You are logged out")
    assert is_dark(page)


@pytest.mark.parametrize(
    ("system", "choice"), [pytest.param("light", "Dark", marks=pytest.mark.gate), ("dark", "Light")]
)
def test_axe_finds_nothing_in_a_chosen_theme(window, alice, system, choice):
    page = window(alice, color_scheme=system, reduced_motion="reduce")
    choose(page, choice)
    for path in ("/", "/timeline/", f"/@{alice.user.username}/", "/settings/appearance/", "/settings/password/"):
        page.goto(path)
        assert findings(page) == [], path


def test_the_list_of_shortcuts_keeps_its_distance_from_the_choices(window):
    page = window(at="/settings/appearance/")
    form = page.get_by_role("main").locator("div").filter(has=page.get_by_role("heading", name="Appearance"))
    above, below = form.bounding_box(), page.get_by_role("region", name="Keyboard shortcuts").bounding_box()
    assert below["y"] - (above["y"] + above["height"]) >= 16


# ---- without a choice, the system's


# What changes slowly.
MOVING = """
() => [...document.querySelectorAll("*")].filter((it) => {
  const style = getComputedStyle(it);
  const durations = `${style.transitionDuration},${style.animationDuration}`.split(",");
  return durations.some((seconds) => parseFloat(seconds) > 0.01);
}).map((it) => it.outerHTML.slice(0, 80))
"""


@pytest.mark.parametrize("path", ["/", "/timeline/", "/login/", "/register/"])
def test_pages_are_as_dark_as_the_system(window, path):
    assert is_dark(window(at=path, color_scheme="dark"))
    assert not is_dark(window(at=path, color_scheme="light"))


def test_a_page_follows_when_the_system_changes_in_the_evening(window, alice):
    page = window(alice, at="/", color_scheme="light", reduced_motion="reduce")
    stays(page)
    page.emulate_media(color_scheme="dark")
    assert is_dark(page)
    stayed(page)


def test_nothing_moves_for_whoever_wants_less_motion(window, alice):
    calm = window(alice, at="/", reduced_motion="reduce")
    assert calm.evaluate(MOVING) == []
    assert calm.evaluate("() => getComputedStyle(document.documentElement).scrollBehavior") == "auto"
