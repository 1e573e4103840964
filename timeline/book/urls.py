from django.urls import path, register_converter

from timeline.book import views
from timeline.book.chapters import NAME


class ChapterConverter:
    """The name of a chapter."""

    regex = NAME

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ChapterConverter, "chapter")

urlpatterns = [
    path("book/", views.contents, name="book"),
    path("book/<chapter:name>/", views.chapter, name="book_chapter"),
    path("book/<chapter:name>.svg", views.picture, name="book_picture"),
]
