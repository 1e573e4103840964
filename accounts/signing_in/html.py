"""Whole pages: the frame with the links of the viewer, around a fragment or a form."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from django.conf import settings
from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.text import Truncator

from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.viewer import Checked, Viewer, last_checked
from accounts.users.entities import Sanction, State, User
from accounts.users.html import SIZES, at, avatar, isolated, picture_address
from retwis_site.features import total
from retwis_site.http.cookies import csrf_token
from retwis_site.identity import DEFAULT, Site, known_site
from retwis_site.rendering import pages
from retwis_site.rendering.dates import day
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, active_language, escaped
from retwis_site.rendering.linking import urlize
from retwis_site.store.ids import digest_of
from retwis_site.store.local_cache import Memory

# ---- The announcement of the site, above every page, until the signed-in viewer dismisses it. Visitors always see it.


ANNOUNCEMENT = Fragment("accounts/signing_in/_announcement.html")


def announcement(site: Site, dismissed: str | None, language: str) -> Html:
    """Nothing without a text, and nothing when `dismissed` names this one. `dismissed` is None for a visitor."""
    name = name_of_announcement(site) if site.announcement else ""
    if not name or dismissed == name:
        return NOTHING
    return ANNOUNCEMENT.fill(
        language, can_be_dismissed=dismissed is not None, text=urlize(site.announcement), name=name
    )


def name_of_announcement(site: Site) -> str:
    """Another text has another name, and so has the same text that was set anew: it is shown again."""
    return digest_of(f"{site.announcement}{site.announced}")[:16]


# ---- The banner that tells a frozen or hidden user so, on every page.


BANNER = Fragment("accounts/signing_in/_banner.html", shape={"state": (State.FROZEN.value, State.HIDDEN.value)})
REASON_IN_BANNER = 150  # characters: a whole reason of staff fills the screen of a phone


def banner(sanction: Sanction | None, language: str) -> Html:
    """The banner, with the beginning of a long reason; nothing for a user on whom nothing is imposed."""
    if sanction is None:
        return NOTHING
    return BANNER.fill(
        language,
        state=sanction.state.value,
        ends=bool(sanction.until),
        has_reason=bool(sanction.reason),
        reason=Truncator(sanction.reason).chars(REASON_IN_BANNER) if sanction.reason else NOTHING,
        day=day(sanction.until, language),
    )


# ---- The number of new notices, in the navigation and in the title of every page.


MOST_SHOWN = 99
UNKNOWN = "?"

NewsNumber = Literal["polls", "waits"]  # as in `_news_number.html`

NUMBER = Fragment("accounts/signing_in/_news_number.html", shape={"how": get_args(NewsNumber)})
LINK = Fragment("accounts/signing_in/_news.html")


def shown_number(number: int | None) -> str:
    """The number as text: empty for 0, `99+` above MOST_SHOWN, UNKNOWN for None."""
    if number is None:
        return UNKNOWN
    return f"{MOST_SHOWN}+" if number > MOST_SHOWN else str(number or "")


def news_number(number: int, language: str, how: NewsNumber) -> Html:
    """The number. It `polls`, or `waits` for the poll of another element, with whose answer it comes."""
    return NUMBER.fill(language, has_news=number > 0, how=how, number=shown_number(number))


def of_another_session(request: RetwisRequest) -> HttpResponse | None:
    """What an open page is answered, which asks from time to time and says whose it is (`?me=` is the address of the
    profile), when that session has ended or another user's has begun: 205, and it loads itself anew. Else None. Round
    trips as for `request.user`.

    Only a script of this site sends the header. Without it a window that another site opens would tell that site who
    is signed in: it goes to no page then."""
    if "HX-Request" not in request.headers:
        return None
    user = request.viewer.checked.user
    me = reverse("profile", args=[user.username]) if isinstance(user, User) else ""
    return None if request.GET.get("me", me) == me else HttpResponse(status=205)


# ---- The link of staff to moderation, with how much waits for a decision.


MODERATION = Fragment("accounts/signing_in/_moderation.html")
STAFF_PAGES = ("moderation", "joining", "edit_site")  # how the names of pages of staff begin


def moderation_link(viewer: Checked, here: str, language: str) -> Html:
    """The entry of the navigation; nothing for all but staff."""
    if not viewer.is_staff:
        return NOTHING
    number = total(viewer.waiting.values())
    is_here = here.startswith(STAFF_PAGES)
    return MODERATION.fill(language, is_here=is_here, has_waiting=number != 0, number=shown_number(number))


# ---- Pages


HERE = ("", "own_profile", "likes", "bookmarks", "tags", "settings")  # the pages to which the viewer's menu leads

SESSION = Fragment("accounts/signing_in/_session.html", shape={"here": HERE, "staff": ("", "idle", "waited for")})


@dataclass(frozen=True)
class Rendering:
    """What the HTML of one answer depends on, besides its content."""

    language: str
    token: Html  # for the forms of the page; empty for a visitor, whose pages have none
    viewer: Checked
    site: Site = DEFAULT

    @cached_property
    def me(self) -> int | None:
        """The viewer's uid; None for a visitor."""
        user = self.viewer.user
        return user.uid if isinstance(user, User) else None

    @cached_property
    def can_act(self) -> bool:
        """Whether the viewer may post, follow and like."""
        return self.me is not None and not self.viewer.is_frozen

    def without_news(self) -> "Rendering":
        """The same for a page that has made the notices read."""
        return replace(self, viewer=self.viewer._replace(numbers={**self.viewer.numbers, "news": 0}))


def rendering(request: RetwisRequest) -> Rendering:
    """Round trips as for `request.viewer.checked`, and for `shown_site` on a page that asks the store for nothing."""
    viewer = request.viewer
    checked = viewer.checked
    token = escaped(csrf_token(request)) if isinstance(checked.user, User) else NOTHING
    return Rendering(request.LANGUAGE_CODE, token, checked, viewer.shown_site)


class Page(Fragment):
    """A fragment that is a whole page: its template extends `base.html`, and `here` is the name of its view."""

    def __init__(self, template: str, here: str, *, shape: Mapping[str, Sequence[Hashable]] | None = None) -> None:
        super().__init__(template, shape={"theme": ("", *pages.THEMES), **(shape or {})}, constants={"here": here})
        self.here = here

    def response(self, request: HttpRequest, by: Rendering, *, status: int = 200, **given: Any) -> HttpResponse:
        """The page as a response. `given` is what `fill` takes, without the frame's own slots and shape."""
        here = "own_profile" if given.get("is_me") else self.here
        html = self.fill_as_sent(
            by.language,
            theme=pages.theme_of(request),
            shortcuts=pages.shortcuts_of(request),
            **frame(by, here, "waits" if given.get("polls") else "polls"),
            messages=pages.messages(request),
            csrf_token=by.token,
            **given,
        )
        return pages.html_response(html, by.language, status)


def session(viewer: Checked, here: str, language: str) -> Html:
    """The menu of a signed-in viewer; nothing for a visitor. `here`: the page that it may mark as the current one."""
    user = viewer.user
    if not isinstance(user, User):
        return NOTHING
    waiting = total(viewer.waiting.values())
    return SESSION.fill(
        language,
        here=here if here in HERE else "",
        staff=("waited for" if waiting != 0 else "idle") if viewer.is_staff else "",
        waiting=shown_number(waiting),
        at=at(user.username),
        avatar=avatar(user),
        shown_name=user.shown_name,
        isolated_name=isolated(user),
    )


@lru_cache(maxsize=500)
def news_link(number: int, here: str, how: NewsNumber, language: str) -> Html:
    """The entry of the navigation, with the number of new notices."""
    return LINK.fill(language, number=news_number(number, language, how), is_here=here == "notifications")


# By uid, language, page and `how`: what a frame was made of, and the frame. An entry has 3 KB, so all have 700 KB.
_frames: Memory[tuple[int | None, str, str, str], tuple[object, Mapping[str, Any]]] = Memory(size=250, seconds=3600)


def frame(by: Rendering, here: str, how: NewsNumber) -> Mapping[str, Any]:
    """What the frame shows of the viewer and of the site. `how`: of the number of new notices."""
    key, made_of = (by.me, by.language, here, how), (by.viewer, by.site)
    kept = _frames.get(key)
    if kept is None or kept[0] != made_of:
        kept = (made_of, _frame(by.viewer, by.site, here, how, by.language))
        if not settings.DEBUG:  # then a changed template shows at once
            _frames.put(key, kept)
    return kept[1]


def _frame(viewer: Checked, site: Site, here: str, how: NewsNumber, language: str) -> dict[str, Any]:
    is_signed_in, news = isinstance(viewer.user, User), viewer.numbers.get("news", 0)
    return {
        **_of_site(site, language),
        "announcement": announcement(site, viewer.dismissed, language),
        "banner": banner(viewer.sanction, language) if here != "appeal" else NOTHING,  # that page says all of it
        "signed_in": is_signed_in,
        "can_register": not is_signed_in and site.can_register,
        "frozen": viewer.is_frozen,
        "session": session(viewer, here, language),
        "moderation": moderation_link(viewer, here, language),
        "news": news_link(news, here, how, language) if is_signed_in else NOTHING,
        "title_number": escaped(f"({shown_number(news)}) ") if news else NOTHING,
    }


@lru_cache(maxsize=50)
def _of_site(site: Site, language: str) -> Mapping[str, Html]:
    """`language`: the active one."""
    return {name: escaped(text) for name, text in pages.of_site(site).items()}


def frame_of_error(request: HttpRequest) -> Mapping[str, Any]:
    """What an error page shows of a signed-in member: the same frame, from what this process knows of the cookie. No
    round trip, since the store may be what failed. Empty for everyone else, and where no token can be made: forms of
    the frame would be refused."""
    if "CSRF_COOKIE" not in request.META:
        return {}
    viewer: Viewer | None = getattr(request, "viewer", None)  # a body that is refused has none
    known = viewer.known if viewer else last_checked(request.COOKIES.get(settings.AUTH_COOKIE, ""))
    if known is None or not isinstance(known.user, User):
        return {}
    by = Rendering(active_language(), NOTHING, known, known_site())
    return frame(by, "", "waits")


# ---- Views of forms


def typed(request: HttpRequest) -> QueryDict | None:
    """What was typed into a form; None before."""
    return request.POST if request.method == "POST" else None


def is_made_of(request: HttpRequest, field: str, present: str) -> bool:
    """Whether a form that was sent was made of what is there now, as its hidden `field` says. A form without the field,
    such as one of another program, says nothing of it."""
    return request.POST.get(field) in (None, present)


def form_page(
    request: RetwisRequest, template: str, context: Mapping[str, Any], status: int | None = None
) -> HttpResponse:
    """A page with a form, rendered for this request. Its template has the context, `user`, and what `pages.page` and
    the frame need. Without a `status` it is 422 when something was typed into `form` of the context, else 200.

    So all views of forms go one way. The form of a GET, into which nothing was typed, is not valid either:

        form = NameForm(typed(request), initial={"name": me.name})
        if not form.is_valid():
            return form_page(request, "name.html", {"form": form})
        Names(connect()).change(me.uid, form.cleaned_data["name"])
        return done(request, _("Saved."), "settings")

    What only the store knows to be wrong is added with `form.add_error`, before the question whether it is valid.
    """
    form = context.get("form")
    if isinstance(form, BaseForm) and form.is_bound:
        focus_first_error(form)
        status = status or 422
    by = rendering(request)
    name = request.resolver_match.view_name if request.resolver_match else ""
    around = {
        "user": by.viewer.user,
        "waiting": {page: shown_number(number) for page, number in by.viewer.waiting.items()},
        **frame(by, name, "polls"),
    }
    return pages.page(request, template, {**around, **context}, status or 200)


def focus_first_error(form: BaseForm) -> None:
    """Let the page begin at the first wrong field, also without JavaScript: in a long form it may be out of sight."""
    wrong = next((field for field in form.visible_fields() if field.errors), None)
    if wrong:
        wrong.field.widget.attrs["autofocus"] = True


def done(request: HttpRequest, said: str, to: str, *arguments: object) -> HttpResponse:
    """A redirect to a view or an address, whose page begins with what is said."""
    messages.success(request, said)
    return redirect(to, *arguments)


def not_done(request: HttpRequest, said: str, to: str, *arguments: object) -> HttpResponse:
    """As `done`, of what went wrong."""
    messages.error(request, said)
    return redirect(to, *arguments)


# ---- What other sites show beside a link to a page.


def image_to_share(origin: str, user: User | None = None) -> str:
    """A whole address: of the picture of this user, or of the sign of the site. `origin`: that of the site."""
    picture = picture_address(user, SIZES[-1]) if user is not None else ""
    return origin + picture if picture else _sign_of_site(origin)


@lru_cache(maxsize=8)
def _sign_of_site(origin: str) -> str:
    return f"{origin}{reverse('home')}apple-touch-icon.png"
