"""Runs axe-core in a page. A finding is a line that names the rule and the element."""

from functools import cache
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OPTIONS = {
    "runOnly": {"type": "tag", "values": TAGS},
    "rules": {"target-size": {"enabled": True}},  # axe leaves it out by default
    "resultTypes": ["violations", "incomplete"],
}
# The rules on which a theme has a say.
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations", "incomplete"]}
# axe cannot tell the colour behind letters in a drawing. tests/accounts/users/test_avatars.py measures their contrast.
CONTEXT: dict[str, list[str]] = {"exclude": [".avatar"]}
# An open menu lies over a part of the page, whose colours axe cannot tell then. It looks at the menu alone, and nothing
# else is seen meanwhile: a text of two lines may lie over two colours.
OPEN_MENU = ".menu[open] > ul, .to-more + .choosing"
ALONE = f"body * {{ visibility: hidden }} :is({OPEN_MENU}), :is({OPEN_MENU}) * {{ visibility: visible }}"
RUN = """async ([context, options, style]) => {
  const rules = new CSSStyleSheet();
  rules.replaceSync(style);
  document.adoptedStyleSheets.push(rules);
  try {
    return await axe.run(context, options);
  } finally {
    document.adoptedStyleSheets.pop();
  }
}"""
# What axe cannot tell and leaves to people is a finding too, when it is about these.
MUST_BE_TOLD = {"color-contrast", "target-size"}


@cache
def _axe() -> Axe:
    return Axe()


def ran(page: Page, options: dict[str, Any] = OPTIONS) -> dict[str, Any]:
    """axe's whole answer, to all rules or to COLOURS."""
    menu, style = ({"include": [OPEN_MENU]}, ALONE) if page.locator(OPEN_MENU).count() else ({}, "")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_axe().axe_script)
    answer: dict[str, Any] = page.evaluate(RUN, [CONTEXT | menu, options, style])
    return answer


def findings(page: Page, options: dict[str, Any] = OPTIONS) -> list[str]:
    """Each violation, as `rule: element: why`; none on a page that is right."""
    answer = ran(page, options)
    untold = [rule for rule in answer["incomplete"] if rule["id"] in MUST_BE_TOLD]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {_why(node)}"
        for rule in answer["violations"] + untold
        for node in rule["nodes"]
    ]


def fits(page: Page, scripts: bool) -> None:
    """axe finds no fault; it needs scripts."""
    assert not scripts or findings(page) == []


def _why(node: dict[str, Any]) -> str:
    checks = [*node["any"], *node["all"], *node["none"]]
    return "; ".join(check["message"] for check in checks) or node["html"]
