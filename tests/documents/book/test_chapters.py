"""Each chapter of the book has all its parts, and its excerpts are those of the code."""

import ast
import re
import xml.etree.ElementTree as ElementTree

import pytest
from django.conf import settings
from redis.crc import key_slot

from retwis_site.store.connection.cluster import SLOTS
from tests.support.book import pages
from timeline.book.views import FOLDER, chapters, neighbours

ROOT = settings.BASE_DIR
PARTS = ["In the official Retwis", "Here", "What it costs", "Exercise"]
SVG = "{http://www.w3.org/2000/svg}"
MAX_PICTURE = 8 * 1024  # bytes
IN_A_PICTURE = {"svg", "title", "g", "rect", "text", "tspan", "path", "line", "circle"}

each_chapter = pytest.mark.parametrize("name", pages.names())


def test_the_contents_name_every_file_of_the_book():
    files = {path.name for path in FOLDER.iterdir()}
    assert files == {"README.md"} | {f"{name}.{kind}" for name in pages.names() for kind in ("md", "svg")}
    assert len(pages.names()) >= 8


@each_chapter
def test_a_chapter_has_all_parts(name):
    text = pages.file_of(name).read_text()
    assert 100 <= len(text.splitlines()) <= 200
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [heading for heading in headings if heading in PARTS] == PARTS
    assert re.findall(r"^!\[.{20,}\]\((.*)\)$", text, re.MULTILINE) == [f"{name}.svg"]
    assert re.search(r"^## Exercise\n.+<details>\n<summary>Answer</summary>\n\n.+\n\n</details>$", text, re.M | re.S)
    assert pages.sessions(name)
    assert list(pages.excerpts(name))


@each_chapter
def test_a_picture_is_small_and_readable_on_any_background(name):
    file = FOLDER / f"{name}.svg"
    assert file.stat().st_size <= MAX_PICTURE
    picture = ElementTree.parse(file).getroot()  # noqa: S314  a file of this repository
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} <= IN_A_PICTURE
    assert picture.find(f"{SVG}title").text
    assert not [element for element in picture.iter() if "style" in element.attrib]
    card = picture.find(f"{SVG}rect")  # all that is drawn lies on it
    assert (card.get("width"), card.get("height")) == (picture.get("width"), picture.get("height"))
    assert picture.get("viewBox") == f"0 0 {picture.get('width')} {picture.get('height')}"


def source_of(path, where):
    """The lines of a file, or of a function, class or method in it."""
    text = (ROOT / path).read_text()
    node = ast.parse(text)
    for name in filter(None, where.split(".")):
        node = next(one for one in node.body if getattr(one, "name", None) == name)
    first, last = (node.lineno - 1, node.end_lineno) if where else (0, None)
    return [line.strip() for line in text.splitlines()[first:last] if line.strip()]


@pytest.mark.parametrize("name", pages.names())
def test_each_excerpt_stands_in_the_code(name):
    for excerpt in pages.excerpts(name):
        source = source_of(excerpt.path, excerpt.where)
        for run in excerpt.runs:
            places = [start for start in range(len(source)) if source[start : start + len(run)] == run]
            assert places, f"{excerpt.path}: {excerpt.where} has not these lines:\n" + "\n".join(run)
            source = source[places[0] + len(run) :]


@pytest.mark.parametrize("name", ["README", *pages.names()])
def test_links_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)#]+)", (FOLDER / f"{name}.md").read_text()):
        assert link.startswith("https://") or (FOLDER / link).exists(), link


def test_the_slots_of_keys_are_those_of_a_cluster():
    rows = re.findall(
        r"^\| `(.+)` \| (\d+) \| the (\w+) \|$", pages.file_of("one-key-a-command").read_text(), re.MULTILINE
    )
    slots = {key: key_slot(key.encode()) for key, _, _ in rows}
    servers = ("first", "second", "third")  # each has a third of the slots, the last a few less
    assert rows == [(key, str(slot), servers[slot // (SLOTS // 3 + 1)]) for key, slot in slots.items()]
    assert len(rows) == 5


def test_neighbours_are_in_the_order_of_the_contents():
    first, second, *_ = chapters().values()
    assert neighbours(first.name) == (None, second)
    assert neighbours(second.name)[0] == first
    assert neighbours(pages.names()[-1])[1] is None
