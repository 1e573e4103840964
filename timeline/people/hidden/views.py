"""The page of the people whom a user blocks and mutes."""

from django.http import HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import to_login
from accounts.signing_in.html.pages import rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from retwis_site.store.client import connect
from timeline.people.hidden.html import hidden_page
from timeline.people.hidden.repository import hidden_people


@require_safe
@cache_control(private=True, no_store=True)
def blocks(request: RetwisRequest) -> HttpResponse:
    try:
        found = hidden_people(connect(), request.viewer)
    except NotSignedIn:
        return to_login(request.get_full_path())
    return hidden_page(request, rendering(request), found)
