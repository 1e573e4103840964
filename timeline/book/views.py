"""The pages of the book. They ask the store for nothing but what every page shows."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, register_converter
from django.views.decorators.http import require_safe

from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.http.public_cache import publicly_cached
from timeline.book import chapters
from timeline.book.chapters import NAME

MAX_AGE = 3600  # seconds that a cache may keep a picture


@require_safe
def contents(request: RetwisRequest) -> HttpResponse:
    first = next(iter(chapters.chapters().values()))
    return form_page(request, "timeline/book/chapter.html", {"chapter": chapters.contents(), "next": first})


@require_safe
def chapter(request: RetwisRequest, name: str) -> HttpResponse:
    found = chapters.chapters().get(name)
    if found is None:
        raise Http404
    previous, following = chapters.neighbours(name)
    context = {"chapter": found, "has_contents": True, "previous": previous, "next": following}
    return form_page(request, "timeline/book/chapter.html", context)


@publicly_cached(MAX_AGE)
def picture(request: HttpRequest, name: str) -> HttpResponse:
    found = chapters.picture(name)
    if found is None:
        raise Http404
    return HttpResponse(found, content_type="image/svg+xml; charset=utf-8")


# ---- Addresses


class ChapterConverter:
    """The name of a chapter."""

    regex = NAME

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ChapterConverter, "chapter")

urlpatterns = [
    path("book/", contents, name="book"),
    path("book/<chapter:name>/", chapter, name="book_chapter"),
    path("book/<chapter:name>.svg", picture, name="book_picture"),
]
