"""The lines of the key table as the key browser shows them: those of docs/keys.md."""

from pathlib import Path

import pytest
from django.conf import settings

from retwis_site.inspector.keys.growth import GROWTH
from retwis_site.inspector.keys.key_table import line_of, lines, spans
from retwis_site.inspector.keys.meanings import FIELDS, MEMBERS, VALUES
from retwis_site.inspector.keys.privacy import OPEN, OPEN_FIELDS, OWN, OWN_FIELDS
from retwis_site.store import key_kinds

DOCUMENT = (Path(settings.BASE_DIR) / "docs/keys.md").read_text()


def test_each_line_stands_in_the_document():
    rows = [row.split("|")[1:5] for row in DOCUMENT.splitlines() if row.startswith("| `")]
    for line in lines().values():
        [(type_, holds, kind)] = [cells for names, *cells in rows if f"`{line.name}`" in names]
        assert (line.type, line.holds, line.kind) == (type_.strip(), holds.strip(), kind.strip())


def test_each_kind_of_key_has_a_line_of_its_type():
    for pattern, type_ in key_kinds.TYPES.items():
        assert lines()[pattern].type == type_, pattern


@pytest.mark.parametrize("table", [GROWTH, MEMBERS, VALUES, FIELDS, OPEN, OWN, OPEN_FIELDS, OWN_FIELDS])
def test_what_is_said_of_kinds_of_keys_is_said_of_kinds_that_exist(table):
    assert set(table) - set(key_kinds.ALL) == set()


def test_each_kind_of_key_says_how_it_grows():
    assert set(GROWTH) == set(key_kinds.ALL)


def test_nothing_is_open_and_own():
    assert set() == OPEN & OWN


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("user:1", "user:<uid>"),
        ("timeline", "timeline"),
        ("timeline:3", "timeline:<n>"),
        ("recent:1", "recent:<n>"),
        ("tag:redis", "tag:<folded>"),
        ("reset:abc", "reset:<digest>"),
        ("damaged:user:1", "damaged:<key>"),
        ("postings:0:17", "postings:<first>:<bucket>"),
    ],
)
def test_a_key_is_found_in_the_table(key, name):
    assert line_of(key).name == name


@pytest.mark.parametrize(
    "key", ["user:settings", "user", "post:1:likes", "another-program", "", "timeline:99", "users:1"]
)
def test_a_key_of_another_program_is_not(key):
    assert line_of(key) is None


def test_the_owner_of_a_key_is_in_its_name():
    assert [lines()[pattern].about for pattern in ("user:*", "liked_by:*", "tag:*", "users")] == ["uid", "pid", "", ""]


def test_code_in_a_line_is_told_from_words():
    assert spans("the mirror of `likes:`") == [(False, "the mirror of "), (True, "likes:")]
