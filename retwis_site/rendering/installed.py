"""The site as an app on a device: its manifest, the page for when there is no connection, and the service worker that
shows that page. The worker keeps this page and static files, and nothing else of the site. Without a script there is
none."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from retwis_site.http.language import headers_in
from retwis_site.http.public_cache import publicly_cached
from retwis_site.identity import Site, ask_stored_site, shown_site
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.pages import FRAME_OF_NOBODY, of_site, page
from retwis_site.store.client import answer, connect
from retwis_site.store.ids import digest_of
from retwis_site.version import of_process as version

FILES = ("retwis.css", "icons.svg", "mark.svg", "retwis.js")  # what the page while offline needs
ICONS = (
    ("icon-192.png", "192x192", "any"),
    ("icon-512.png", "512x512", "any"),
    ("mask-512.png", "512x512", "maskable"),
)
PAPER, PINE = "#f2f5f0", "#17604a"  # what a device shows around the app while it starts


@publicly_cached(3600)
def manifest(request: HttpRequest) -> HttpResponse:
    """The web app manifest. No round trip while the site's name is cached, else one."""
    name, home = shown_site(connect()).name, reverse("home")
    icons = [{"src": static(file), "sizes": size, "type": "image/png", "purpose": use} for file, size, use in ICONS]
    about = {"id": home, "name": name, "short_name": name, "start_url": home, "scope": home, "icons": icons}
    look = {"display": "standalone", "background_color": PAPER, "theme_color": PINE}
    return JsonResponse(about | look, content_type="application/manifest+json; charset=utf-8")


@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """The page for when there is no connection, the same for every viewer. One round trip: a browser keeps the page
    until the script below differs, so it must not be older than that script, which another process may have answered.
    """
    site = answer(connect(), ask_stored_site)
    return page(request, "retwis_site/offline.html", {**FRAME_OF_NOBODY, **of_site(site)})


@publicly_cached(0)
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script. A browser that has it asks for it again after a page was opened, and takes one that differs: a new
    version of the site, other words of its own, and another language of the browser make it differ. Round trips as for
    `manifest`."""
    files = [static(file) for file in FILES]
    told = {"scope": reverse("home"), "page": reverse("offline"), "files": files}
    told["version"] = _version(shown_site(connect()), files)
    script = loader.render_to_string("retwis_site/service-worker.js", {"told": json.dumps(told)})
    return HttpResponse(script, content_type="text/javascript; charset=utf-8", headers=headers_in(active_language()))


def _version(site: Site, files: list[str]) -> str:
    made_of = repr((version(), active_language(), files, site.name, site.colour, site.tagline))
    return digest_of(made_of)[:16]
