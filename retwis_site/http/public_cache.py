"""Answers that are the same for everybody, such as feeds: any cache may keep them, and ask whether they still hold."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.utils.cache import get_conditional_response, patch_cache_control, set_response_etag
from django.utils.http import parse_http_date_safe
from django.views.decorators.http import require_safe

View = Callable[..., HttpResponse]


def for_everybody(seconds: int) -> Callable[[View], View]:
    """Makes a view's answer one that caches keep for so long, with an ETag of what it says: 304 for whoever has it.

    Such a view must not ask who is there. Where it gives a Last-Modified too, the ETag decides for whoever sends both
    back (RFC 9110, 13.1.3), and so it should: a post that is deleted, or a new name, changes an answer that then has no
    newer date. Who keeps dates alone may miss that until the next post, which is all that a date can tell.
    """

    def decorated(view: View) -> View:
        @require_safe
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            response = view(request, *args, **kwargs)
            if isinstance(response, SimpleTemplateResponse):
                response.render()
            # A browser's damaged cookie is renewed with the next page: what caches keep must carry nobody's.
            request.META.pop("CSRF_COOKIE_NEEDS_UPDATE", None)
            patch_cache_control(response, public=True, max_age=seconds)
            set_response_etag(response)
            modified = parse_http_date_safe(response.get("Last-Modified", ""))
            return get_conditional_response(request, response.get("ETag"), modified, response) or response

        return answer

    return decorated
