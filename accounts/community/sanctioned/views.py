"""The appeal against a sanction: for a signed-in person, and for a suspended one who has just typed the password."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.community.refusals import Refused
from accounts.community.sanctioned.forms import AppealForm
from accounts.community.sanctioned.limits import APPEALS
from accounts.community.sanctioned.pages import appeal_page, uid_of
from accounts.community.sanctions import Sanctions
from accounts.signing_in.guards import open_to_frozen, to_login
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.rendering.error_pages import error_page
from retwis_site.rendering.kept_fields import kept_fields
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits


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
