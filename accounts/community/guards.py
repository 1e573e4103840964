"""The guard of staff's pages."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, cast

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control

from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import Role, User

P = ParamSpec("P")
View = Callable[Concatenate[RetwisRequest, User, P], HttpResponseBase]
Guarded = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def staff_required(view: View[P]) -> Guarded[P]:
    """Gives the view the signed-in moderator or admin, after the request. For everyone else the address does not exist:
    404, with any method, so it stands above `require_safe` and the like. No cache stores the
    answer. Round trips as for `request.user`."""
    return _only({Role.MODERATOR, Role.ADMIN}, view)


def admin_required(view: View[P]) -> Guarded[P]:
    """Like `staff_required`, for admins alone."""
    return _only({Role.ADMIN}, view)


def _only(roles: set[Role], view: View[P]) -> Guarded[P]:
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        retwis_request = cast(RetwisRequest, request)
        if retwis_request.viewer.checked.role not in roles:
            raise Http404
        response = view(retwis_request, retwis_request.viewer.require_user(), *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    update_wrapper(guarded, view)
    guarded.for_roles = roles  # type: ignore[attr-defined]
    return guarded
