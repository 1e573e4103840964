"""Serves pictures."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.views.decorators.http import require_safe

from accounts.media.repository import SIZE_PATTERN, Pictures
from retwis_site.store.client import connect
from retwis_site.store.ids import DIGEST

IMMUTABLE = "public, max-age=31536000, immutable"  # the name is made of the content
NOTHING_ELSE = "default-src 'none'; sandbox"  # of a picture that is opened as a page


class PictureConverter(StringConverter):
    """A digest, and a size behind it."""

    regex = f"[0-9a-f]{{{DIGEST},64}}{SIZE_PATTERN}"  # the slot of a fragment is longer than a digest


register_converter(PictureConverter, "picture")


@require_safe
def picture(request: HttpRequest, file: str) -> HttpResponse:
    """One round trip. It asks for no session: who knows the name has seen the post."""
    content = Pictures(connect()).file(file)
    if content is None:
        raise Http404
    etag = f'"{file}"'
    known = request.headers.get("If-None-Match", "")
    answer = HttpResponseNotModified() if etag in known or known == "*" else HttpResponse(content, "image/webp")
    answer["ETag"], answer["Cache-Control"] = etag, IMMUTABLE
    answer["Content-Security-Policy"] = NOTHING_ELSE
    answer["Cross-Origin-Resource-Policy"] = "cross-origin"  # feeds and apps show it too
    answer["Access-Control-Allow-Origin"] = "*"  # apps on pages of other sites read it too: no cookie counts here
    # Django would renew an invalid CSRF cookie here, but a shared cache must not keep a cookie.
    request.META.pop("CSRF_COOKIE_NEEDS_UPDATE", None)
    return answer


urlpatterns = [path("media/<picture:file>.webp", picture, name="media")]
