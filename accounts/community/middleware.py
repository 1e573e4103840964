"""Leads a visitor to the login, refuses what a frozen user may not do, and shows a suspended one why no session begins.
Each in one place, for all views: a view need not know of it."""

from collections.abc import Callable
from typing import Any, cast

from django.http import HttpRequest, HttpResponse

from accounts.community.views import frozen_page, suspended_page
from accounts.signing_in.guards import log_in_first
from accounts.signing_in.middleware import RetwisRequest, ViewerMiddleware
from accounts.users.entities import AccountFrozen, NotSignedIn, State, SuspendedLogin, User
from retwis_site.exceptions import StoreError
from retwis_site.rendering.error_pages import store_failure


class SanctionMiddleware(ViewerMiddleware):
    """Attaches the viewer, of whom it may have to refuse something."""

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *arguments: object) -> None:
        """A POST is refused as soon as the view learns that its viewer is frozen, before it changes anything; so is a
        page that is only there to act. No round trip."""
        if (request.method != "POST" and not hasattr(view, "for_acting")) or getattr(view, "open_to_frozen", False):
            return
        viewer = cast(RetwisRequest, request).viewer
        viewer.check = _refuse_frozen
        if viewer.signed_in:  # known already
            _refuse_frozen(viewer.require_user())

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


def _refuse_frozen(user: User) -> None:
    if user.state is State.FROZEN:
        raise AccountFrozen
