"""The pages about the site, and the form by which admins change its words."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.community.guards import admin_required
from accounts.community.site.forms import SiteForm, filled_with
from accounts.community.site.limits import DISMISSALS, SITE_CHANGES
from accounts.community.site.words import SiteWords
from accounts.signing_in.guards import change, login_required, open_to_frozen, page_of_form
from accounts.signing_in.html.announcement import dismissed_by
from accounts.signing_in.html.pages import form_page
from accounts.signing_in.middleware import SITE_CHANGED, RetwisRequest
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.http import cookies
from retwis_site.identity.site import stored_site
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits

SECONDS = 10  # longer than any process keeps the words


@require_safe
def about(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/community/site/about.html", {"site": request.viewer.site})


@require_safe
def rules(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/community/site/rules.html", {"site": request.viewer.site})


@require_safe
def privacy(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/community/site/privacy.html", {"site": request.viewer.site})


@open_to_frozen
@change
@login_required
def dismiss(request: RetwisRequest, me: User) -> HttpResponse:
    """The announcement that stands now is not shown to this account again."""
    RateLimits(connect()).count(DISMISSALS, str(me.uid))
    Users(connect()).write(me.uid, {"dismissed": dismissed_by(request.POST.get("announcement", ""))})
    return redirect(page_of_form(request))


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: RetwisRequest, me: User) -> HttpResponse:
    template = "accounts/community/site/edit.html"
    if request.method != "POST":
        return form_page(request, template, {"form": filled_with(stored_site(connect()))})
    form = SiteForm(request.POST)
    if not form.is_valid():
        return form_page(request, template, {"form": form}, status=422)
    RateLimits(connect()).count(SITE_CHANGES, str(me.uid))
    SiteWords(connect()).change(form.texts(), by=me.uid)
    messages.success(request, _("The site was changed."))
    response = redirect("edit_site")
    cookies.keep(response, SITE_CHANGED, "1", SECONDS)
    return response
