"""The URLs of the site. Each feature has its own `urls.py`."""

from django.urls import include, path

from retwis_site import health
from retwis_site.features import features

urlpatterns = [
    # Django tries patterns in order. Home and timelines get the most requests, so the last features come first.
    *(path("", include(feature.urls)) for feature in reversed(features()) if feature.urls),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
]

handler400 = "retwis_site.rendering.error_pages.bad_request"
handler403 = "retwis_site.rendering.error_pages.permission_denied"
handler404 = "retwis_site.rendering.error_pages.not_found"
handler500 = "retwis_site.rendering.error_pages.server_error"
