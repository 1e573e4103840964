"""The pages that tell a person what is imposed on them, and take their appeal."""

from typing import Any

from django.core import signing
from django.http import HttpResponse

from accounts.community.sanctioned.forms import AppealForm
from accounts.community.sanctions import Imposed, Sanctions
from accounts.signing_in.html.pages import form_page
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.rendering.dates import day
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.kept_fields import kept_fields
from retwis_site.store.client import connect

TOKEN_LIVES = 3600  # seconds
_SALT = "appeal of a suspended user"


def frozen_page(request: RetwisRequest) -> HttpResponse:
    """403, with the text that was typed. No round trip."""
    sanction = request.viewer.sanction
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
