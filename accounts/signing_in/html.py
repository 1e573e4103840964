"""Whole pages: the frame with the links of the viewer, around a fragment or a form."""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.middleware import RetwisRequest
from accounts.users.avatars import avatar
from accounts.users.entities import Sanction, State, User, Visitor
from accounts.users.html import at
from accounts.users.names import isolated
from retwis_site.http.cookies import csrf_token
from retwis_site.identity import DEFAULT, Site
from retwis_site.rendering import pages
from retwis_site.rendering.dates import day
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, active_language, escaped
from retwis_site.rendering.pages import THEMES, theme_of

# ---- The announcement of the site, above every page, until the signed-in viewer dismisses it. Visitors always see it.


ANNOUNCEMENT = Fragment("accounts/signing_in/_announcement.html")


def announcement(text: str, dismissed: str | None, language: str) -> Html:
    """Nothing without a text, and nothing when `dismissed` names this text. `dismissed` is None for a visitor."""
    if not text or dismissed == name_of_announcement(text):
        return NOTHING
    return ANNOUNCEMENT.fill(
        language, can_be_dismissed=dismissed is not None, text=text, name=name_of_announcement(text)
    )


@lru_cache(maxsize=8)
def name_of_announcement(text: str) -> str:
    """Another text has another name, so that it is shown again."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dismissed_by(typed: str) -> str:
    """The name in the form of an announcement, as it is stored; what is no name is cut off."""
    return typed[:16] if typed.isalnum() else ""


# ---- The banner that tells a frozen or hidden user so, on every page.


BANNER = Fragment("accounts/signing_in/_banner.html", shape={"state": (State.FROZEN.value, State.HIDDEN.value)})


def banner(sanction: Sanction | None, language: str) -> Html:
    """The banner; nothing for a user on whom nothing is imposed."""
    if sanction is None:
        return NOTHING
    return BANNER.fill(
        language,
        state=sanction.state.value,
        ends=bool(sanction.until),
        has_reason=bool(sanction.reason),
        reason=sanction.reason or NOTHING,
        day=day(sanction.until, language),
    )


# ---- The number of new notices, in the navigation and in the title of every page.


MOST_SHOWN = 99

How = Literal["polls", "waits", "arrives"]  # as in `_news_number.html`

NUMBER = Fragment("accounts/signing_in/_news_number.html", shape={"how": get_args(How)})
LINK = Fragment("accounts/signing_in/_news.html")


def shown_number(number: int) -> str:
    """Empty for none, at most `99+`."""
    return f"{MOST_SHOWN}+" if number > MOST_SHOWN else str(number or "")


def news_number(number: int, language: str, how: How) -> Html:
    """The number. It `polls`, or `waits` for another element's poll, with whose answer it `arrives`."""
    return NUMBER.fill(language, has_news=number > 0, how=how, number=shown_number(number))


# ---- Pages


HERE = ("", "own_profile", "likes", "bookmarks", "tags", "settings")  # the pages to which the viewer's menu leads

SESSION = Fragment("accounts/signing_in/_session.html", shape={"here": HERE, "staff": ("", "idle", "waited for")})


@dataclass(frozen=True, slots=True)
class Rendering:
    """What the HTML of one answer depends on, besides its content."""

    language: str
    token: Html  # for the forms of the page; empty for a visitor, whose pages have none
    user: User | Visitor
    news: int = 0  # the number of new notices
    sanction: Sanction | None = None  # what staff has imposed on the viewer
    site: Site = DEFAULT
    is_staff: bool = False  # a moderator or an admin
    waiting: int = 0  # how many reports and appeals wait for staff; 0 for all others
    dismissed: str | None = None  # the announcement that the viewer has dismissed; None for a visitor

    @property
    def me(self) -> int | None:
        """The viewer's uid; None for a visitor."""
        return self.user.uid if isinstance(self.user, User) else None


def rendering(request: RetwisRequest) -> Rendering:
    """Round trips as for `request.viewer.user`, and for `shown_site` on a page that asks the store for nothing."""
    user = request.viewer.user
    token = escaped(csrf_token(request)) if user.is_authenticated else NOTHING
    viewer = request.viewer
    news = viewer.numbers.get("news", 0)
    return Rendering(
        active_language(),
        token,
        user,
        news,
        viewer.sanction,
        viewer.shown_site,
        dismissed=viewer.dismissed,
        is_staff=viewer.is_staff,
        waiting=viewer.waiting,
    )


class Page(Fragment):
    """A fragment that is a whole page: its template extends `base.html`, and `here` is the name of its view."""

    def __init__(
        self,
        template: str,
        here: str,
        *,
        shape: Mapping[str, Sequence[Hashable]] | None = None,
    ) -> None:
        super().__init__(template, shape={"theme": ("", *THEMES), **(shape or {})}, constants={"here": here})
        self.here = here

    def response(self, request: HttpRequest, by: Rendering, *, status: int = 200, **given: Any) -> HttpResponse:
        """The page as a response. `given` is what `fill` takes, without the frame's own slots and shape."""
        here = "own_profile" if given.get("is_me") else self.here
        html = self.fill_as_sent(
            by.language,
            theme=theme_of(request),
            **frame(by, here, "waits" if given.get("polls") else "polls"),
            messages=pages.messages(request),
            csrf_token=by.token,
            **given,
        )
        return pages.html_response(html, by.language, status)


def session(by: Rendering, here: str) -> Html:
    """The menu of a signed-in viewer; nothing for a visitor. `here`: the page that it may mark as the current one."""
    user = by.user
    if not isinstance(user, User):
        return NOTHING
    return SESSION.fill(
        by.language,
        here=here if here in HERE else "",
        staff=("waited for" if by.waiting else "idle") if by.is_staff else "",
        waiting=shown_number(by.waiting),
        at=at(user.username),
        avatar=avatar(user.uid, user.shown_name),
        shown_name=user.shown_name,
        isolated_name=isolated(user),
    )


def news_link(by: Rendering, here: str, how: How) -> Html:
    """The entry of the navigation, with the number of new notices."""
    number = news_number(by.news, by.language, how)
    return LINK.fill(by.language, number=number, is_here=here == "notifications")


def frame(by: Rendering, here: str, how: How) -> dict[str, Any]:
    """What the frame shows of the viewer and of the site. `how`: of the number of new notices."""
    is_signed_in = by.me is not None
    return {
        **pages.of_site(by.site),
        "announcement": announcement(by.site.announcement, by.dismissed, by.language),
        "banner": banner(by.sanction, by.language),
        "signed_in": is_signed_in,
        "session": session(by, here),
        "news": news_link(by, here, how) if is_signed_in else NOTHING,
        "title_number": escaped(f"({shown_number(by.news)}) ") if is_signed_in and by.news else NOTHING,
    }


def form_page(request: RetwisRequest, template: str, context: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """A page with a form, rendered for this request. Its template has the context, `user`, and what `pages.page` and
    the frame need."""
    by = rendering(request)
    name = request.resolver_match.view_name if request.resolver_match else ""
    around = {
        "user": by.user,
        "waiting": shown_number(by.waiting),
        **frame(by, name, "polls"),
    }
    return pages.page(request, template, {**around, **context}, status)
