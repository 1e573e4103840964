"""The guard of the pages that show the store."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control

from accounts.community.guards import admin_required
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import Role, User
from retwis_site.inspector.audience import is_at_home

P = ParamSpec("P")


def inspectors_only(
    view: Callable[Concatenate[RetwisRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Without INSPECT the address does not exist: 404, with any method. Where others can reach the site it exists for
    admins alone. No cache stores the answer."""

    @admin_required
    def as_admin(request: RetwisRequest, me: User, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return view(request, *args, **kwargs)

    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not settings.INSPECT:
            raise Http404
        if not is_at_home(request):
            return as_admin(request, *args, **kwargs)
        response = view(cast(RetwisRequest, request), *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    update_wrapper(guarded, view)
    guarded.for_roles = {Role.ADMIN}  # type: ignore[attr-defined]
    return guarded
