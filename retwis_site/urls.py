"""The site's addresses. `accounts` and `timeline` keep their own."""

from django.urls import include, path

from retwis_site import health

urlpatterns = [
    path("", include("timeline.timelines.urls")),  # first, as what is asked for most: addresses are tried in turn
    path("", include("accounts.signing_in.urls")),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
]

handler400 = "retwis_site.http.error_pages.bad_request"
handler403 = "retwis_site.http.error_pages.permission_denied"
handler404 = "retwis_site.http.error_pages.not_found"
handler500 = "retwis_site.http.error_pages.server_error"
