"""The site's addresses. `accounts` and `timeline` keep their own."""

from django.urls import include, path

from retwis_site import health

urlpatterns = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("accounts.urls")),
    path("", include("timeline.urls")),
]

handler400 = "retwis_site.errors.bad_request"
handler403 = "retwis_site.errors.permission_denied"
handler404 = "retwis_site.errors.not_found"
handler500 = "retwis_site.errors.server_error"
