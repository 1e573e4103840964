"""The page of explore."""

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.middleware import RetwisRequest
from retwis_site.store.client import connect
from timeline.explore.exploring import Explore
from timeline.explore.html import explore_page


@require_safe
def explore(request: RetwisRequest) -> HttpResponse:
    found = Explore(connect()).page(request.viewer)
    return explore_page(request, found)


# ---- Addresses


urlpatterns = [path("explore/", explore, name="explore")]
