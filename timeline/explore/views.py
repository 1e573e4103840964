"""The page of explore."""

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.html import rendering
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.store.client import connect
from timeline.explore.exploring import Explore
from timeline.explore.html import explore_page
from timeline.posts.html.composer import composer


@require_safe
def explore(request: RetwisRequest) -> HttpResponse:
    found = Explore(connect()).page(request.viewer)
    by = rendering(request)
    return explore_page(request, by, found, composer(request, by))


# ---- Addresses


urlpatterns = [path("explore/", explore, name="explore")]
