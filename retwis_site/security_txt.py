"""`/.well-known/security.txt`: whom to tell about a weakness (RFC 9116)."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse

from retwis_site.http.public_cache import publicly_cached
from retwis_site.rendering.pages import origin_of

MAX_AGE = 3600  # seconds that a cache may keep it
VALID = timedelta(days=180)  # the RFC asks for less than a year


@publicly_cached(MAX_AGE)
def security_txt(request: HttpRequest) -> HttpResponse:
    """The file, 404 without SECURITY_CONTACT. No round trip."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + VALID
    fields = {
        "Contact": settings.SECURITY_CONTACT,
        "Expires": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Preferred-Languages": settings.LANGUAGE_CODE,
        "Canonical": origin_of(request) + request.path,
    }
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return HttpResponse(lines, content_type="text/plain; charset=utf-8")
