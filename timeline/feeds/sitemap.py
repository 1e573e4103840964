"""What search engines are told: what not to read, and what there is."""

from typing import Any

from django.contrib.sitemaps import Sitemap, views
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.users.repository import Users
from retwis_site.http.public_cache import publicly_cached
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect

KEPT = 3600  # seconds that a cache may keep an answer
PEOPLE_A_PART = 1000  # an index has room for 50,000 parts (sitemaps.org)
XML = "application/xml; charset=utf-8"


class Names:
    """Everybody's name, as Django's paginator wants a list to be. Nothing is read before it is asked for."""

    def __len__(self) -> int:
        """One round trip."""
        return Users(connect()).how_many()

    def __getitem__(self, part: slice) -> list[str]:
        """One round trip."""
        return Users(connect()).in_order(part.start, part.stop - part.start)


class FixedPages(Sitemap):  # type: ignore[type-arg]
    """What is there without anybody."""

    def items(self) -> list[str]:
        return ["home", "timeline", "people"]

    def location(self, name: str) -> str:
        return reverse(name)


class ProfilePages(Sitemap):  # type: ignore[type-arg]
    """Everybody's profile. No dates: to learn them would take three times as many commands as a part has people."""

    limit = PEOPLE_A_PART

    def items(self) -> Names:  # type: ignore[override]
        return Names()

    def location(self, name: str) -> str:
        return reverse("profile", args=[name])


_PARTS: "dict[str, type[Sitemap[Any]] | Sitemap[Any]]" = {"pages": FixedPages, "people": ProfilePages}


@publicly_cached(KEPT)
def sitemap(request: HttpRequest) -> HttpResponse:
    """Where the parts are. One round trip."""
    return views.index(request, _PARTS, sitemap_url_name="sitemap_part", content_type=XML)


@publicly_cached(KEPT)
def sitemap_part(request: HttpRequest, section: str) -> HttpResponse:
    """The fixed pages, without a round trip; or a thousand people (`?p=2` has the next), two round trips."""
    return views.sitemap(request, _PARTS, section, content_type=XML)


@publicly_cached(KEPT)
def robots(request: HttpRequest) -> HttpResponse:
    """No round trip."""
    where = origin_of(request) + reverse("sitemap")
    return render(request, "timeline/feeds/robots.txt", {"sitemap": where}, content_type="text/plain; charset=utf-8")
