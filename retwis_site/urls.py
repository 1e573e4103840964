"""The URLs of the site. Each feature has its own `urls.py`."""

from importlib import import_module

from django.urls import path

from retwis_site import health
from retwis_site.features import features

_of_the_site = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path(".well-known/security.txt", health.security_txt, name="security_txt"),
]
_of_features = [pattern for one in features() if one.urls for pattern in import_module(one.urls).urlpatterns]

# One flat list, since Django tries it in turn, and a list of lists takes twice as long. First the pages that are asked
# for most, then short addresses. No other pattern fits the addresses of these pages.
MOST_ASKED = ("home", "timeline", "profile", "search")
urlpatterns = sorted(
    [*_of_the_site, *_of_features], key=lambda one: (one.name not in MOST_ASKED, str(one.pattern).count("/"))
)

handler400 = "retwis_site.rendering.error_pages.bad_request"
handler403 = "retwis_site.rendering.error_pages.permission_denied"
handler404 = "retwis_site.rendering.error_pages.not_found"
handler500 = "retwis_site.rendering.error_pages.server_error"
