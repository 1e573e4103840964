"""Whoever has no mouse: Tab to where one wants to be, and always see where one is."""

from playwright.sync_api import Locator, Page

MOST_STOPS = 400

# What the focused element is, and what is wrong with how it shows that. A browser scrolls to it in one of the next
# frames.
FOCUSED = """
async () => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const faults = () => {
    const box = it.getBoundingClientRect(), style = getComputedStyle(it), wrong = [];
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2)
      wrong.push(`its outline is ${style.outlineStyle}, ${style.outlineWidth} wide`);
    const within = (x, y) => {
      const top = document.elementFromPoint(x, y);
      return top && (it.contains(top) || top.contains(it));
    };
    const places = [0.1, 0.5, 0.9].map((part) => [box.left + box.width * part, box.top + box.height * part]);
    if (style.clipPath === "inset(50%)") wrong.push("it is for screen readers alone");
    if (!places.some(([x, y]) => within(x, y))) {
      const above = document.elementFromPoint(...places[1]);
      const there = `${box.width} x ${box.height} at ${box.left}, ${box.top}`;
      wrong.push(above ? `${above.outerHTML.slice(0, 120)} lies over it (${there})` : `it is out of sight (${there})`);
    }
    return wrong;
  };
  for (let frame = 0; frame < 60 && faults().length; frame++) await new Promise(requestAnimationFrame);
  return { what: it.outerHTML.slice(0, 120), wrong: faults() };
}
"""


def focus_is_seen(page: Page) -> None:
    """WCAG 2.4.7 and 2.4.11: the focused element has an outline, and nothing lies over it."""
    focused = page.evaluate(FOCUSED)
    assert focused is not None, "nothing has the focus"
    assert not focused["wrong"], f"{focused['what']}: {'; '.join(focused['wrong'])}"


def press_tab_until(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Go there by keyboard; the focus is seen at every stop."""
    for _ in range(MOST_STOPS):
        page.keyboard.press(key)
        focus_is_seen(page)
        if wanted.evaluate("it => it === document.activeElement"):
            return
    raise AssertionError(f"{wanted} is not reached by {key}")


def every_stop(page: Page) -> int:
    """Tab through the whole page, from its beginning to its end; how many stops there are."""
    page.evaluate("() => document.activeElement.blur()")
    for stops in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement === document.body || !document.hasFocus()"):
            return stops
        focus_is_seen(page)
    raise AssertionError("Tab comes to no end")
