"""For search engines: robots.txt, and the sitemap with all profiles."""

from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap, views
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.users.repository import Users
from retwis_site.http.public_cache import publicly_cached
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from timeline.people.directory import ShownNames

MAX_AGE = 3600  # seconds that a cache may keep an answer
PEOPLE_A_PART = 1000  # an index has room for 50,000 parts (sitemaps.org)
XML = "application/xml; charset=utf-8"


class Names:
    """All usernames, as a list for Django's paginator. A part is read only when the paginator asks for it, and lacks
    people whom staff has hidden or suspended."""

    def __len__(self) -> int:
        """One round trip."""
        return Users(connect()).how_many()

    def __getitem__(self, part: slice) -> list[str]:
        """Three round trips; one while all users of the part are cached, none for an empty part."""
        store = connect()
        names = Users(store).in_order(part.start, part.stop - part.start)
        shown = ShownNames(names, None)
        for ask in (shown.ask_uids, shown.ask_people):
            pipe = store.pipeline()
            ask(pipe)
            pipe.execute()
        return shown.read()


class FixedPages(Sitemap):  # type: ignore[type-arg]
    """Pages that exist without users."""

    def items(self) -> list[str]:
        parts = {"explore": settings.EXPLORE, "book": settings.BOOK}
        return ["home", "timeline", "people", *(name for name, is_on in parts.items() if is_on)]

    def location(self, name: str) -> str:
        return reverse(name)


class ProfilePages(Sitemap):  # type: ignore[type-arg]
    """All profiles, without dates: these would take two more commands for each user of a part."""

    limit = PEOPLE_A_PART

    def items(self) -> Names:  # type: ignore[override]
        return Names()

    def location(self, name: str) -> str:
        return reverse("profile", args=[name])


_PARTS: "dict[str, type[Sitemap[Any]] | Sitemap[Any]]" = {"pages": FixedPages, "people": ProfilePages}


@publicly_cached(MAX_AGE)
def sitemap(request: HttpRequest) -> HttpResponse:
    """The index of the parts. One round trip."""
    return views.index(request, _PARTS, sitemap_url_name="sitemap_part", content_type=XML)


@publicly_cached(MAX_AGE)
def sitemap_part(request: HttpRequest, section: str) -> HttpResponse:
    """The fixed pages, without a round trip; or at most PEOPLE_A_PART profiles of page `?p=`, with at most four round
    trips."""
    return views.sitemap(request, _PARTS, section, content_type=XML)


@publicly_cached(MAX_AGE)
def robots(request: HttpRequest) -> HttpResponse:
    """No round trip."""
    address = origin_of(request) + reverse("sitemap")
    return render(request, "timeline/feeds/robots.txt", {"sitemap": address}, content_type="text/plain; charset=utf-8")
