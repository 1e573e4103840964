"""A member's invitations, and staff's page of who asks to join and who invited whom."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from accounts.community.guards import staff_required
from accounts.community.joining.answers import Answers
from accounts.community.joining.feature import ANSWERS, INVITATIONS
from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitations
from accounts.joining.joining import newcomers
from accounts.joining.refusals import CannotJoin
from accounts.signing_in.guards import login_required
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import Role, User
from retwis_site.http.form_fields import MaxLength
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits


class AnswerForm(forms.Form):
    """Staff's answer to an application."""

    username = forms.CharField()
    at = forms.IntegerField()  # when the application was made
    answer = forms.ChoiceField(choices=[("approve", ""), ("refuse", "")])
    reason = forms.CharField(required=False, validators=[MaxLength(500)])


@cache_control(private=True, no_store=True)
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def invites(request: RetwisRequest, me: User) -> HttpResponse:
    """The viewer's open invitations. A POST makes one, or takes one back."""
    invitations, quota = Invitations(connect()), request.viewer.site.invites
    if request.method != "POST":
        found = invitations.of(me.uid)
        rows = [
            (one.code, f"{origin_of(request)}/invited/{one.code}/", moment(one.ends, active_language())[1])
            for one in found
        ]
        context = {"rows": rows, "quota": quota, "may_invite": sum(one.left for one in found) < quota}
        return form_page(request, "accounts/community/joining/invites.html", context)
    RateLimits(connect()).count(INVITATIONS, str(me.uid))
    if code := request.POST.get("revoke", ""):
        invitations.revoke(me.uid, code)
        messages.success(request, _("The invitation was taken back."))
        return redirect("invites")
    try:
        invitations.make(me.uid, quota=quota)
    except CannotJoin as refusal:
        messages.error(request, str(refusal.text))
    else:
        messages.success(request, _("The invitation was made. Send its address to one person."))
    return redirect("invites")


@staff_required
@require_http_methods(["GET", "HEAD", "POST"])
def joining(request: RetwisRequest, me: User) -> HttpResponse:
    """Who asks to join, and who invited whom. A POST answers an application."""
    if request.method != "POST":
        return _joining_page(request)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose an answer."))
        return _joining_page(request, status=422)
    RateLimits(connect()).count(ANSWERS, str(me.uid))
    typed, answers = form.cleaned_data, Answers(connect())
    if typed["answer"] == "approve":
        is_done = answers.approve(typed["username"], typed["at"], me.uid)
        text = _("The account was made.")
    else:
        is_done = answers.refuse(typed["username"], typed["at"], me.uid, typed["reason"])
        text = _("The application was refused.")
    if is_done:
        messages.success(request, text)
    else:
        messages.error(request, _("Nobody waits under this name any more, or somebody else has the name."))
    return redirect("joining")


def _joining_page(request: RetwisRequest, status: int = 200) -> HttpResponse:
    asking = [(one, moment(one.at, active_language())[1]) for one in Applications(connect()).all()]
    context = {"asking": asking, "newcomers": newcomers(connect())}
    context["is_admin"] = request.viewer.checked.role is Role.ADMIN
    return form_page(request, "accounts/community/joining/joining.html", context, status=status)


# ---- Addresses


urlpatterns = [
    path("settings/invites/", invites, name="invites"),
    path("moderation/joining/", joining, name="joining"),
]
