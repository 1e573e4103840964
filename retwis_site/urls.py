"""The URLs of the site. `Feature.urls` names the module that has those of a feature."""

from importlib import import_module

from django.urls import path

from retwis_site import health
from retwis_site.features import features
from retwis_site.rendering import installed

_of_the_site = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("manifest.webmanifest", installed.manifest, name="manifest"),
    path("offline/", installed.offline, name="offline"),
    path("service-worker.js", installed.service_worker, name="service_worker"),
    path(".well-known/security.txt", health.security_txt, name="security_txt"),
]
_of_features = [pattern for one in features() if one.urls for pattern in import_module(one.urls).urlpatterns]

# One flat list, since Django tries it in turn, and a list of lists takes twice as long. First the pages that are asked
# for most and what their buttons send, then short addresses. No other pattern fits the addresses of the first ones. To
# try a pattern takes two Python calls: the address of a like was found after 80.
MOST_ASKED = (
    *("home", "timeline", "profile", "api", "media", "search", "news", "post", "notifications", "publish", "like"),
    "follow",
)
urlpatterns = sorted(
    [*_of_the_site, *_of_features],
    key=lambda one: (
        MOST_ASKED.index(one.name) if one.name in MOST_ASKED else len(MOST_ASKED),
        str(one.pattern).count("/"),
    ),
)

handler400 = "retwis_site.rendering.pages.bad_request"
handler403 = "retwis_site.rendering.pages.permission_denied"
handler404 = "retwis_site.rendering.pages.not_found"
handler500 = "retwis_site.rendering.pages.server_error"
