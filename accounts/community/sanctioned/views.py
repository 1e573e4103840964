"""The appeal against a sanction: for a signed-in person, and for a suspended one who has just typed the password."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core import signing
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.community.refusals import Refused
from accounts.community.sanctions import Imposed, Sanctions
from accounts.signing_in.guards import open_to_frozen, to_login
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.http.form_fields import MaxLength
from retwis_site.rendering.dates import day
from retwis_site.rendering.error_pages import error_page, kept_fields
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import Limit, RateLimits

# ---- The form of an appeal.


LONGEST_APPEAL = 1000  # characters


class AppealForm(forms.Form):
    """What a person says about what is imposed on them."""

    text = forms.CharField(
        label=gettext_lazy("Your appeal"),
        help_text=format_lazy(
            gettext_lazy("Say why this should be undone. Up to {number} characters."), number=LONGEST_APPEAL
        ),
        validators=[MaxLength(LONGEST_APPEAL)],
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
    )


# ---- The pages that tell a person what is imposed on them, and take their appeal.


TOKEN_LIVES = 3600  # seconds
_SALT = "appeal of a suspended user"


def frozen_page(request: RetwisRequest) -> HttpResponse:
    """403, with the text that was typed. No round trip."""
    sanction = request.viewer.checked.sanction
    kept = [one for one in kept_fields(request) if one.field.kind == "textarea"]
    until = day(sanction.until, active_language()) if sanction is not None and sanction.until else ""
    context = {"sanction": sanction, "until": until, "kept": kept}
    response = form_page(request, "accounts/community/sanctioned/frozen.html", context, status=403)
    response["Cache-Control"] = "private, no-store"
    return response


def suspended_page(request: RetwisRequest, uid: int) -> HttpResponse:
    """403 after the right password of a suspended account, or with its link for a new password. The form of the appeal
    has a token that says who it is, so no session begins. Three round trips at most."""
    return appeal_page(request, uid, AppealForm(), token=token_of(uid), status=403)


def appeal_page(
    request: RetwisRequest, uid: int, form: AppealForm, *, token: str = "", status: int = 200
) -> HttpResponse:
    """What is imposed on a person, and their appeal or its form. `token`: for a suspended person. Three round trips at
    most."""
    found = Sanctions(connect()).standing(uid)
    context: dict[str, Any] = {"form": form, "token": token, "standing": found}
    if found is not None:
        context |= _dates(found.imposed)
    response = form_page(request, "accounts/community/sanctioned/appeal.html", context, status)
    response["Cache-Control"] = "private, no-store"
    return response


def _dates(present: Imposed) -> dict[str, str]:
    language = active_language()
    return {
        "since": day(present.since, language),
        "until": day(present.until, language) if present.until else "",
        "deleted_at": day(present.deleted_at, language) if present.deleted_at else "",
    }


def token_of(uid: int) -> str:
    """Proves for TOKEN_LIVES seconds that the person has the password or a link. It opens nothing but the appeal."""
    return signing.dumps(uid, salt=_SALT)


def uid_of(token: str) -> int | None:
    """The uid of a valid token; None for any other text."""
    try:
        uid = signing.loads(token, salt=_SALT, max_age=TOKEN_LIVES)
    except signing.BadSignature:
        return None
    return uid if isinstance(uid, int) else None


# ---- The rate limit of appeals.


APPEALS = Limit(
    *("appeal", 10, 3600, "appeals"),
    gettext_lazy("Too many appeals in a short time. The limit is %(times)d."),
)


# ---- Views


@open_to_frozen
@require_http_methods(["GET", "HEAD", "POST"])
def appeal(request: RetwisRequest) -> HttpResponse:
    """What is imposed on the viewer, with the form of an appeal. A POST sends the appeal."""
    token = request.POST.get("token", "")
    uid = uid_of(token) if token else request.viewer.uid
    if uid is None and request.method == "POST":
        text = _("Nothing was sent. Log in again, then send this form again.")
        return error_page(request, 403, _("You are logged out"), text, kept_fields(request))
    if uid is None:
        return to_login(request.path)
    if request.method != "POST":
        return appeal_page(request, uid, AppealForm())
    form = AppealForm(request.POST)
    if not form.is_valid():
        return appeal_page(request, uid, form, token=token, status=422)
    RateLimits(connect()).count(APPEALS, str(uid))
    try:
        Sanctions(connect()).appeal(uid, form.cleaned_data["text"])
    except Refused as refusal:
        form.add_error(None, str(refusal))
        return appeal_page(request, uid, form, token=token, status=422)
    if token:
        return appeal_page(request, uid, AppealForm(), token=token)
    messages.success(request, _("Your appeal was sent."))
    return redirect("appeal")


# ---- Addresses


urlpatterns = [path("appeal/", appeal, name="appeal")]
