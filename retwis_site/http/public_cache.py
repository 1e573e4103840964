"""Answers that are the same for everyone, such as feeds: any cache may keep and revalidate them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.utils.cache import get_conditional_response, patch_cache_control, set_response_etag
from django.utils.http import parse_http_date_safe
from django.views.decorators.http import require_safe
from whitenoise.storage import CompressedManifestStaticFilesStorage

View = Callable[..., HttpResponse]


def publicly_cached(seconds: int) -> Callable[[View], View]:
    """Adds a public Cache-Control for `seconds` and an ETag of the body; answers 304 when the client has that body.

    The view must not depend on the user. When the view sets Last-Modified and the client sends both back, the ETag
    decides (RFC 9110, 13.1.3). This is needed: a deleted post or a new name changes the body but not the date. A client
    that keeps only the date misses such a change until the next post.
    """

    def decorator(view: View) -> View:
        @require_safe
        @wraps(view)
        def cached_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            response = view(request, *args, **kwargs)
            if isinstance(response, SimpleTemplateResponse):
                response.render()
            # Django would renew an invalid CSRF cookie here, but a shared cache must not keep a cookie.
            request.META.pop("CSRF_COOKIE_NEEDS_UPDATE", None)
            patch_cache_control(response, public=True, max_age=seconds)
            set_response_etag(response)
            modified = parse_http_date_safe(response.get("Last-Modified", ""))
            return get_conditional_response(request, response.get("ETag"), modified, response) or response

        return cached_view

    return decorator


# ---- Static files, which any cache may keep forever: their names have a hash after `collectstatic`.


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """`{% static %}` gives `retwis.3f2a....css`, which can be cached forever. An uncollected file keeps its name."""

    manifest_strict = False

    def hashed_name(self, name: str, *args: Any, **kwargs: Any) -> str:
        try:
            return str(super().hashed_name(name, *args, **kwargs))
        except ValueError:  # not under STATIC_ROOT (yet): WHITENOISE_USE_FINDERS serves it by its plain name
            return name
