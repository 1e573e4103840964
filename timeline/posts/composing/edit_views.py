"""Changing the text of a post, and its earlier texts."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.signing_in.guards import login_required
from accounts.signing_in.html.pages import form_page, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.rendering.error_pages import error_page
from retwis_site.rendering.kept_fields import kept_fields
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.posts.composing.forms import EditForm
from timeline.posts.entities import NoSuchPost, TooManyEdits
from timeline.posts.html.history_page import history_page
from timeline.posts.limits import POSTS
from timeline.posts.reading.acted import NOTHING_READ_MUTES_ASIDE
from timeline.posts.reading.one_post import one_post, texts_of_post
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.repository import Posts


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    """Round trips of a change: those of `Posts.edit`, one for the post and one for the rate limit. Raises NoSuchPost,
    PostDeleted."""
    post = one_post(request.viewer, username, pid)
    if post.author.uid != me.uid:
        if request.method != "POST":
            raise PermissionDenied(_("Only its author can edit a post."))
        text = _("Only its author can edit a post. You are logged in as %(name)s.") % {"name": f"@{me.username}"}
        return error_page(request, 403, _("Not allowed"), text, kept_fields(request))
    if post.links.repost_of is not None:
        raise NoSuchPost(pid)
    address = reverse("post", args=[post.author.username, pid])
    form = EditForm(request.POST if request.method == "POST" else None, initial={"body": post.body})
    if form.is_valid():
        RateLimits(connect()).count(POSTS, str(me.uid))
        try:
            if Posts(connect()).edit(me.uid, pid, form.cleaned_data["body"]):
                messages.success(request, _("Saved."), extra_tags="posted")
            return HttpResponseRedirect(address)
        except TooManyEdits as refused:
            form.add_error("body", str(refused.message))
    context = {"form": form, "uid": me.uid, "pid": pid, "address": address}
    return form_page(request, "timeline/posts/edit.html", context, status=422 if form.is_bound else 200)


@require_safe
def history(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """At most three round trips. Raises NoSuchPost, also for a repost, PostDeleted, NotShown."""
    post, texts = texts_of_post(request.viewer, username, pid)
    shown, _ = PostReader(connect(), request.viewer.user, acted=NOTHING_READ_MUTES_ASIDE).read([pid])
    if post.links.repost_of is not None or not shown:
        raise NoSuchPost(pid)
    return history_page(request, rendering(request), shown[0], texts)
