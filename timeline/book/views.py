"""The pages of the book. They ask the store for nothing but what every page shows."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, register_converter, reverse
from django.urls.converters import StringConverter
from django.utils.html import escape
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.http.public_cache import publicly_cached
from retwis_site.rendering.fragments import Html

# ---- Markdown of the book as HTML for the site's pages. It is the site's own text, so HTML in it stays.


PROMPT = "> "  # before a command of a session with redis-cli


def title_of(markdown: str) -> str:
    """The text of the first heading."""
    return markdown.partition("\n")[0].removeprefix("# ")


def html_of(markdown: str) -> Html:
    """The text as HTML. Links between chapters and pictures lead to addresses of the site. Any other link becomes plain
    text: the site does not serve the other files of the repository, and its own pages name no other site."""
    tokens = _PARSER.parse(markdown)
    for token in tokens:
        _relink(token.children or [])
    html: str = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Html(html.replace("<th></th>", "<td></td>"))  # a corner without words heads nothing


def _relink(tokens: Sequence[Token]) -> None:
    is_dropped = False
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrGet("href")))
            is_dropped = token.hidden = address is None
            token.attrSet("href", address or "")
        elif token.type == "link_close":
            token.hidden = is_dropped


def _address(link: str) -> str | None:
    """Where a link of a chapter leads on the site; None where it leads elsewhere."""
    if link == "README.md":
        return reverse("book")
    chapter = re.fullmatch(r"([a-z-]+)\.md", link)
    return reverse("book_chapter", args=[chapter[1]]) if chapter else None


def _image(self: RendererHTML, tokens: Sequence[Token], number: int, options: OptionsDict, env: EnvType) -> str:
    """A picture, which leads to itself: a phone shows it larger there."""
    name = str(tokens[number].attrGet("src")).removesuffix(".svg")
    address = reverse("book_picture", args=[name])
    return f'<a href="{address}"><img src="{address}" alt="{escape(tokens[number].content)}"></a>'


def _fence(self: RendererHTML, tokens: Sequence[Token], number: int, options: OptionsDict, env: EnvType) -> str:
    """A block of code. A session has its commands marked, and above it what has happened on the site before."""
    language, _, situation = tokens[number].info.partition(" ")
    if language != "redis":
        return f"<pre><code>{escape(tokens[number].content)}</code></pre>\n"
    caption = f"<figcaption>{escape(situation)}</figcaption>" if situation else ""
    session = "\n".join(_session_lines(tokens[number].content))
    return f"<figure>{caption}<pre><samp>{session}</samp></pre></figure>\n"


def _session_lines(session: str) -> Iterator[str]:
    for line in session.splitlines():
        shown = escape(line)
        yield f"<kbd>{shown}</kbd>" if line.startswith(PROMPT) else shown


_PARSER = MarkdownIt("commonmark").enable("table")
_PARSER.add_render_rule("image", _image)
_PARSER.add_render_rule("fence", _fence)


# ---- The chapters and pictures, from the files of docs/book/. They are read once in a process.


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


# ---- Pages


MAX_AGE = 3600  # seconds that a cache may keep a picture


@require_safe
def contents_page(request: RetwisRequest) -> HttpResponse:
    first = next(iter(chapters().values()))
    return form_page(request, "timeline/book/chapter.html", {"chapter": contents(), "next": first})


@require_safe
def chapter_page(request: RetwisRequest, name: str) -> HttpResponse:
    found = chapters().get(name)
    if found is None:
        raise Http404
    previous, following = neighbours(name)
    context = {"chapter": found, "has_contents": True, "previous": previous, "next": following}
    return form_page(request, "timeline/book/chapter.html", context)


@publicly_cached(MAX_AGE)
def picture_file(request: HttpRequest, name: str) -> HttpResponse:
    found = picture(name)
    if found is None:
        raise Http404
    return HttpResponse(found, content_type="image/svg+xml; charset=utf-8")


# ---- Addresses


class ChapterConverter(StringConverter):
    """The name of a chapter."""

    regex = NAME


register_converter(ChapterConverter, "chapter")

urlpatterns = [
    path("book/", contents_page, name="book"),
    path("book/<chapter:name>/", chapter_page, name="book_chapter"),
    path("book/<chapter:name>.svg", picture_file, name="book_picture"),
]
