"""docs/export.md describes the file of a whole site as it is."""

import re

import pytest
from django.conf import settings

from retwis_site.features import site_lines
from retwis_site.maintenance.site_files import FORMAT, VERSION
from tests.support.maintenance.site_files import export, import_, of_type, parsed, person
from tests.support.stored_keys import empty

DOCUMENT = (settings.BASE_DIR / "docs/export.md").read_text().partition("# The whole site as a file\n")[2]


def rows(title):
    part = DOCUMENT.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:3] == "| `"]


def documented():
    """By type: the fields that a line must have, and those that it may have."""
    fields = {}
    for types, field, _ in rows("The fields of the whole site"):
        for type_ in re.findall(r"`(\w+)`", types):
            must, may = fields.setdefault(type_, ({"type"}, set()))
            (may if field.endswith("*") else must).add(field.strip("`*"))
    return fields


def test_the_document_has_every_field_and_no_other(full_site, tmp_path):
    found = {}
    for line in parsed(export(tmp_path / "site.jsonl")):
        found.setdefault(line["type"], []).append(set(line))
    expected = documented()
    assert set(found) == set(expected)
    for type_, lines in found.items():
        must, may = expected[type_]
        assert set.intersection(*lines) >= must
        assert set.union(*lines) == must | may


@pytest.mark.parametrize("name", site_lines())
def test_the_fields_are_those_that_an_import_verifies(name):
    kind = site_lines()[name]
    forms = [kind.fields(person(1, "alice")), kind.fields({"deleted": ""})] if name == "user" else [kind.fields({})]
    must, may = documented()[name]
    assert must | may == {"type"}.union(*forms)
    assert must == {"type"} | set.intersection(
        *({field for field, expected in form.items() if expected.required} for form in forms)
    )


def test_the_document_has_the_types_in_their_order():
    assert [row[0].strip("`") for row in rows("The lines of the whole site")] == ["site", *site_lines(), "end"]


def test_the_document_names_format_and_version():
    assert ["`site`", "`format`", f"`{FORMAT}`"] in rows("The fields of the whole site")
    assert ["`site`", "`version`", f"`{VERSION}`"] in rows("The fields of the whole site")


def test_the_example_is_imported_and_exported_again(raw, tmp_path):
    example = DOCUMENT.partition("```jsonl\n")[2].partition("```")[0].encode()
    (tmp_path / "example.jsonl").write_bytes(example)
    import_(tmp_path / "example.jsonl")
    again = export(tmp_path / "again.jsonl")
    unusable = of_type(again, "user")[0]["password"]
    assert unusable.startswith("!")
    lines = [{**line, "password": None} if "password" in line else line for line in parsed(again)]
    assert lines[1:-1] == parsed(example)[1:-1]
    empty(raw)
