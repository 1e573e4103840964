"""Measures whether all of a page can be read, and pressed with a finger."""

import contextlib
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page

SMALLEST = 44  # pixels, in both directions

# Links, buttons and fields that are too small for a finger. The label of a choice is pressed like the choice. A link in
# a sentence may be as high as its line.
SMALL = """
(smallest) => {
  const letters = (it) => it.textContent.replace(/[^\\p{L}]/gu, "").length;
  const inSentence = (link) => {
    if (link.tagName !== "A" || !getComputedStyle(link).display.startsWith("inline")) return false;
    let block = link.parentElement;
    while (getComputedStyle(block).display === "inline") block = block.parentElement;
    return letters(block) > [...block.querySelectorAll("a")].reduce((sum, one) => sum + letters(one), 0);
  };
  const found = [];
  for (const it of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")) {
    if (!it.checkVisibility({ visibilityProperty: true }) || it.closest(".unseen, .skip") || inSentence(it)) continue;
    const choice = it.matches("[type=radio], [type=checkbox]") && it.closest("label");
    const { width, height } = (choice || it).getBoundingClientRect();
    if (Math.min(width, height) < smallest - 0.5)
      found.push(`${Math.round(width)} x ${Math.round(height)}: ${it.outerHTML.slice(0, 120)}`);
  }
  return found;
}
"""

# What reaches over an edge of the window, text that its own box cuts, and labels with more lines than words. A list of
# people shows only the beginning of a bio. The account menu has the whole name.
CUT = """
() => {
  const hasBrokenWord = (it) => {
    const range = document.createRange();
    range.selectNodeContents(it);
    const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
    return lines.size > it.textContent.trim().split(/\\s+/).length;
  };
  const found = [], edge = document.scrollingElement.clientWidth;
  for (const it of document.body.querySelectorAll("*:not(.unseen, .unseen *, .skip, svg *, .rest, .bio, .me-name)")) {
    const { left, right, width } = it.getBoundingClientRect(), style = getComputedStyle(it);
    if (!width || style.clipPath === "inset(50%)" || !it.checkVisibility({ visibilityProperty: true })) continue;
    const hasText = [...it.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    // A clip path of an inline box shows its first line alone.
    const isFirstLine = style.clipPath !== "none" && it.getClientRects().length > 1;
    const isCut = style.display === "inline" ? isFirstLine : hasText && it.scrollWidth > it.clientWidth + 1;
    const isBroken = hasText && it.matches(".button, .tabs a, .pills a, .menu *, label") && hasBrokenWord(it);
    if (left < -0.5 || right > edge + 0.5 || isCut || isBroken)
      found.push(`${Math.round(left)} to ${Math.round(right)}: ${it.outerHTML.slice(0, 120)}`);
  }
  return found;
}
"""


@contextlib.contextmanager
def finger(page: Page) -> Iterator[None]:
    """The page's pointer is a finger, as long as the block."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    yield
    session.detach()  # ends it


def small_targets(page: Page) -> Any:
    """What is smaller than SMALLEST, as `width x height: HTML`."""
    return page.evaluate(SMALL, SMALLEST)


def cut_off(page: Page) -> Any:
    """What cannot be seen whole, as `left to right: HTML`."""
    return page.evaluate(CUT)
