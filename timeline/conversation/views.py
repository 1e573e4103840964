"""The page of a post, with its thread, and the posts that quote it."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.signing_in.html.pages import rendering
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.store.client import connect
from timeline.conversation.html.quotes_page import quotes_page
from timeline.conversation.html.thread_page import thread_page
from timeline.conversation.quotes import Quotes
from timeline.conversation.threads import Threads
from timeline.timelines.cursors import post_cursor


@require_safe
def post(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    after = post_cursor(request.GET.get("after"))
    found = Threads(connect()).page(request.viewer, username, pid, after)
    return thread_page(request, rendering(request), found)


@require_safe
def quotes(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = Quotes(connect()).page(request.viewer, username, pid, before)
    return quotes_page(request, rendering(request), found)
