"""Light or dark like the system, with enough contrast everywhere."""

import pytest

from tests.browser.support.steps import stayed, stays
from tests.browser.support.themes import is_dark

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
