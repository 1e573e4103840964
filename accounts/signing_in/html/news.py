"""The number of new notices, in the navigation and in the title of every page."""

from typing import Literal, get_args

from retwis_site.rendering.fragments import EITHER, Fragment, Html

MOST_SHOWN = 99

How = Literal["polls", "waits", "arrives"]  # as in `_news_number.html`

NUMBER = Fragment(
    "accounts/signing_in/_news_number.html",
    slots=("number",),
    shape={"has_news": EITHER, "how": get_args(How)},
)
LINK = Fragment("accounts/signing_in/_news.html", slots=("number",), shape={"is_here": EITHER})


def shown_number(number: int) -> str:
    """Empty for none, at most `99+`."""
    return f"{MOST_SHOWN}+" if number > MOST_SHOWN else str(number or "")


def news_number(number: int, language: str, how: How) -> Html:
    """The number. It `polls`, or `waits` for another element's poll, with whose answer it `arrives`."""
    return NUMBER.fill(language, has_news=number > 0, how=how, number=shown_number(number))


def news_link(number: Html, is_here: bool, language: str) -> Html:
    """The entry of the navigation. `is_here`: it leads to this page."""
    return LINK.fill(language, number=number, is_here=is_here)
