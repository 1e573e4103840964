"""Leads a visitor to the login, and tells a frozen user what they may not do and a suspended one why no session begins,
in one place for all views."""

from typing import cast

from django.http import HttpRequest, HttpResponse

from accounts.community.views import frozen_page, suspended_page
from accounts.signing_in.guards import log_in_first
from accounts.signing_in.middleware import RetwisRequest, ViewerMiddleware
from accounts.users.entities import AccountFrozen, NotSignedIn, SuspendedLogin
from retwis_site.exceptions import StoreError
from retwis_site.rendering.pages import store_failure


class SanctionMiddleware(ViewerMiddleware):
    """Attaches the viewer, and has a page for each thing that is refused."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, NotSignedIn):
            return log_in_first(request)
        if isinstance(exception, AccountFrozen):
            return frozen_page(cast(RetwisRequest, request))
        if isinstance(exception, SuspendedLogin):
            try:
                return suspended_page(cast(RetwisRequest, request), exception.uid)
            except StoreError as error:  # Django makes a 500 of what is raised here
                return store_failure(request, error)
        return None
