"""Follow and unfollow."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from accounts.signing_in.guards import change, login_required
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.relations.actions.limits import FOLLOWS
from timeline.relations.follow import Follows


@change
@login_required
def follow(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    if person.uid == me.uid:
        messages.error(request, _("You cannot follow yourself. Your posts are already on your home page."))
    else:
        RateLimits(connect()).count(FOLLOWS, str(me.uid))
        Follows(connect()).follow(me.uid, person.uid)
        messages.success(request, _("You now follow %(name)s.") % {"name": person.username})
    return redirect("profile", person.username)


@change
@login_required
def unfollow(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    Follows(connect()).unfollow(me.uid, person.uid)
    messages.success(request, _("You no longer follow %(name)s.") % {"name": person.username})
    return redirect("profile", person.username)
