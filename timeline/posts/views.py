"""The deletion of a post."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.translation import gettext as _

from accounts.signing_in.guards import change, login_required, page_of_form
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.store.client import connect
from timeline.posts.composing import views as composing
from timeline.posts.repository import Posts


@change
@login_required
def delete(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    author = request.viewer.find(username)
    if author.uid != me.uid:
        raise PermissionDenied(_("Only its author can delete a post."))
    Posts(connect()).delete(me.uid, pid)
    messages.success(request, _("Deleted."))
    back = page_of_form(request)
    return HttpResponseRedirect("/" if back.startswith(request.path.removesuffix("delete/")) else back)


urlpatterns = [
    path("post/", composing.publish, name="publish"),
    path("compose/", composing.compose, name="compose"),
    path("compose/discard/", composing.discard, name="discard"),
    path("@<username:username>/<id:pid>/delete/", delete, name="delete"),
    path("@<username:username>/<id:pid>/edit/", composing.edit, name="edit"),
    path("@<username:username>/<id:pid>/history/", composing.history, name="history"),
]
