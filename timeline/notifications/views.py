"""The page of notices, their number for the poll, and the settings of their kinds."""

from dataclasses import replace

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe

from accounts.settings.feature import EDITS
from accounts.signing_in.guards import login_required, open_to_frozen, to_login
from accounts.signing_in.html import form_page, news_number, rendering, shown_number
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn, User
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.pages import answer
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.notices.entities import Kind
from timeline.notices.inbox import QuietKinds
from timeline.notifications.html import notifications_page
from timeline.notifications.repository import Notifications, Only, place_cursor, read_cursor
from timeline.people.lists import choice

# ---- The form of the settings of notices.


LABELS = {
    Kind.FOLLOW: gettext_lazy("Someone follows you"),
    Kind.LIKE: gettext_lazy("Someone likes your post"),
    Kind.REPOST: gettext_lazy("Someone reposts your post"),
    Kind.REPLY: gettext_lazy("Someone replies to you"),
    Kind.QUOTE: gettext_lazy("Someone quotes your post"),
    Kind.MENTION: gettext_lazy("Someone mentions you"),
}


def _box(kind: Kind) -> forms.BooleanField:
    return forms.BooleanField(label=LABELS[kind], required=False)


class KindsForm(forms.Form):
    """The kinds of notices that a user gets: a box for each, so that an error page keeps them all."""

    follow = _box(Kind.FOLLOW)
    like = _box(Kind.LIKE)
    repost = _box(Kind.REPOST)
    reply = _box(Kind.REPLY)
    quote = _box(Kind.QUOTE)
    mention = _box(Kind.MENTION)


# ---- Views


@require_safe
def notifications(request: RetwisRequest) -> HttpResponse:
    only, before = choice(Only, request.GET.get("only")), place_cursor(request.GET.get("before"))
    read = read_cursor(request.GET.get("read"))
    try:
        found = Notifications(connect()).page(request.viewer, only, before)
    except NotSignedIn:
        return to_login(request.get_full_path())
    by = rendering(request)
    if only is Only.ALL and before is None:
        by = replace(by, news=0)  # this page has made them read
    return notifications_page(request, by, found, only, before, found.read if read is None else read)


@require_safe
def news(request: RetwisRequest) -> HttpResponse:
    """What an open page asks from time to time: the number of new notices; 204 when the page shows it (`?known=`)."""
    if request.viewer.uid is None:
        return HttpResponse(status=204)
    number = request.viewer.numbers["news"]
    if shown_number(number) == request.GET.get("known", ""):
        return HttpResponse(status=204)
    language = active_language()
    return answer(news_number(number, language, "polls").encode(), language)


@open_to_frozen
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@cache_control(private=True, no_store=True)
def kinds(request: RetwisRequest, me: User) -> HttpResponse:
    """Which kinds of notices the user gets."""
    quiet = QuietKinds(connect())
    if request.method != "POST":
        form = KindsForm(initial=dict.fromkeys(quiet.wanted(me.uid), True))
        return form_page(request, "timeline/notifications/kinds.html", {"form": form})
    RateLimits(connect()).count(EDITS, str(me.uid))
    form = KindsForm(request.POST)
    form.full_clean()  # boxes cannot be filled wrongly
    quiet.want(me.uid, [kind for kind, wanted in form.cleaned_data.items() if wanted])
    messages.success(request, _("Saved."))
    return redirect("notification_settings")


# ---- Addresses


urlpatterns = [
    path("notifications/", notifications, name="notifications"),
    path("notifications/number/", news, name="news"),
    path("settings/notifications/", kinds, name="notification_settings"),
]
