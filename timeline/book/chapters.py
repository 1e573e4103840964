"""The chapters and pictures of the book, from the files of docs/book/. They are read once in a process."""

import re
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from retwis_site.rendering.fragments import Html
from timeline.book.markdown import html_of, title_of

FOLDER = settings.FILES_DIR / "docs" / "book"
CONTENTS = "README"  # the table of contents; the order of its links is that of the chapters
NAME = "[a-z]+(?:-[a-z]+)*"  # of a chapter's file, and of its picture


@dataclass(frozen=True, slots=True)
class Chapter:
    """A file of the book as HTML. `name`: of the file, without `.md`."""

    name: str
    title: str
    html: Html


@cache
def contents() -> Chapter:
    """The first page of the book."""
    return _read(CONTENTS)


@cache
def chapters() -> dict[str, Chapter]:
    """All chapters by name, in their order."""
    linked = re.findall(rf"\]\(({NAME})\.md\)", _markdown(CONTENTS))
    return {name: _read(name) for name in dict.fromkeys(linked)}


@cache
def picture(name: str) -> bytes | None:
    """The picture of the chapter with this name, as SVG; None when no chapter has it."""
    return (FOLDER / f"{name}.svg").read_bytes() if name in chapters() else None


def neighbours(name: str) -> tuple[Chapter | None, Chapter | None]:
    """The chapters before and after this one; None where there is none."""
    order = [None, *chapters().values(), None]
    place = next(number for number, one in enumerate(order) if one is not None and one.name == name)
    return order[place - 1], order[place + 1]


def _read(name: str) -> Chapter:
    markdown = _markdown(name)
    return Chapter(name, title_of(markdown), html_of(markdown))


def _markdown(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")
