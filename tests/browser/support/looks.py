"""Looks at a page in both themes, at three widths, and as on a phone."""

import itertools
from typing import NamedTuple

from tests.browser.support.accessibility import COLOURS, OPTIONS, findings
from tests.browser.support.page_kinds import ACTS, ADDRESSES
from tests.browser.support.steps import nothing_scrolls_sideways
from tests.browser.support.touch import cut_off, finger, small_targets
from tests.browser.support.windows import PHONE

THEMES = ("light", "dark")
NARROWEST = 320
WIDTHS = (1280, 768, NARROWEST)
EVERY_LOOK = tuple(itertools.product(THEMES, WIDTHS))
# Each language at each width, in one of the themes; together each width in both themes.
LOOKS = {
    "en": (("light", 1280), ("dark", 768), ("dark", NARROWEST)),
    "de": (("light", 1280), ("dark", 768), ("light", NARROWEST)),
    "ar": (("dark", 1280), ("light", 768), ("dark", NARROWEST)),
}


class Walk(NamedTuple):
    """`.ci/run` has no time for every page in every look. On a walk a story sees some pages, all in the same look."""

    language: str
    theme: str
    width: int

    def pages(self):
        """The names of its pages. Every page is on one walk: those of ACTS, which are English, on one in English."""
        names = [*ADDRESSES][WALKS.index(self) :: len(WALKS)]
        english = [walk for walk in WALKS if walk.language == "en"]
        return names + ([*ACTS][english.index(self) :: len(english)] if self in english else [])


WALKS = [Walk(language, *look) for language, looks in LOOKS.items() for look in looks]


def look_at(page, looks):
    """What is wrong with the page: the findings of axe in each of the looks, what is cut off on phones, and what is too
    small for a finger."""
    found, widths = [], set()
    for theme, width in looks:
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 800})
        # As tall as the page, and room below: axe cannot scroll away from under the fixed bar and a message.
        height = page.evaluate("() => document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": height + 100})
        rules = COLOURS if width in widths else OPTIONS  # all but colours is as in the other theme
        widths.add(width)
        found += [f"{theme}, {width} px: {finding}" for finding in findings(page, rules)]
    with finger(page):
        for size in (PHONE, {"width": NARROWEST, "height": 640}):
            page.set_viewport_size(size)
            found += [f"small at {size['width']} px: {it}" for it in small_targets(page)]
            found += [f"cut off at {size['width']} px: {it}" for it in cut_off(page)]
    page.set_viewport_size({"width": NARROWEST, "height": 256})
    nothing_scrolls_sideways(page)
    return found
