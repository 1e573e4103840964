"""The page of a post, with its thread; the posts that quote it; who likes it and who reposts it; the viewer's likes and
bookmarks."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import to_login
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from retwis_site.store.client import connect
from timeline.conversation import acting
from timeline.conversation.html import acted_by_page, quotes_page, saved_page, thread_page
from timeline.conversation.lists import ActedBy, Quotes, SavedPosts
from timeline.conversation.threads import Threads
from timeline.people.cursors import score_cursor
from timeline.timelines.pagination import post_cursor


@require_safe
def post(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    after = post_cursor(request.GET.get("after"))
    found = Threads(connect()).page(request.viewer, username, pid, after)
    if found.post.pid != pid:  # the address of a repost leads to the post
        return redirect("post", found.author.username, found.post.pid)
    return thread_page(request, found)


@require_safe
def quotes(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = Quotes(connect()).page(request.viewer, username, pid, before)
    return quotes_page(request, found)


@require_safe
def likes_of(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    before = score_cursor(request.GET.get("before"))
    found = ActedBy(connect()).likers(request.viewer, username, pid, before)
    return acted_by_page(request, found, "likes_of")


@require_safe
def reposts_of(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    before = score_cursor(request.GET.get("before"))
    found = ActedBy(connect()).reposters(request.viewer, username, pid, before)
    return acted_by_page(request, found, "reposts_of")


@require_safe
def likes(request: RetwisRequest) -> HttpResponse:
    before = score_cursor(request.GET.get("before"))
    try:
        found = SavedPosts(connect()).likes(request.viewer, before)
    except NotSignedIn:
        return to_login(request.get_full_path())
    return saved_page(request, found, "likes")


@require_safe
def bookmarks(request: RetwisRequest) -> HttpResponse:
    before = score_cursor(request.GET.get("before"))
    try:
        found = SavedPosts(connect()).bookmarks(request.viewer, before)
    except NotSignedIn:
        return to_login(request.get_full_path())
    return saved_page(request, found, "bookmarks")


# ---- Addresses


urlpatterns = [
    path("@<username:username>/<id:pid>/", post, name="post"),
    path("@<username:username>/<id:pid>/quotes/", quotes, name="quotes"),
    path("@<username:username>/<id:pid>/like/", acting.like, name="like"),
    path("@<username:username>/<id:pid>/unlike/", acting.unlike, name="unlike"),
    path("@<username:username>/<id:pid>/bookmark/", acting.bookmark, name="bookmark"),
    path("@<username:username>/<id:pid>/unbookmark/", acting.unbookmark, name="unbookmark"),
    path("@<username:username>/<id:pid>/repost/", acting.repost, name="repost"),
    path("@<username:username>/<id:pid>/unrepost/", acting.unrepost, name="unrepost"),
    path("@<username:username>/<id:pid>/mute/", acting.mute_thread, name="mute_thread"),
    path("@<username:username>/<id:pid>/unmute/", acting.unmute_thread, name="unmute_thread"),
    path("@<username:username>/<id:pid>/likes/", likes_of, name="likes_of"),
    path("@<username:username>/<id:pid>/reposts/", reposts_of, name="reposts_of"),
    path("likes/", likes, name="likes"),
    path("bookmarks/", bookmarks, name="bookmarks"),
]
