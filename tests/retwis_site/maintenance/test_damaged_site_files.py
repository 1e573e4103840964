"""`manage.py import` refuses a damaged or torn file before it writes anything."""

from io import BytesIO

import pytest
from django.core.management import CommandError
from hypothesis import HealthCheck, given, settings, strategies as st

from retwis_site.maintenance import site_files
from retwis_site.store import chunks
from tests.support.maintenance.site_files import export, import_, person, site_file
from tests.support.runs.python_calls import python_calls
from tests.support.stored_keys import empty
from tests.support.stores.seam import examples

WHEN = "2026-01-02T03:04:05Z"
POST = {"type": "post", "id": 1, "user": 1, "time": WHEN, "text": "hello"}
FOLLOW = {"type": "follow", "follower": 1, "followed": 1, "since": WHEN}


def refused(raw, path, content):
    """The message about a file, of which nothing was written."""
    path.write_bytes(content)
    with pytest.raises(CommandError) as error:
        import_(path)
    assert raw.dbsize() == 0
    return str(error.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150))
@given(st.data())
def test_any_changed_byte_is_noticed(full_site, tmp_path, data):
    content = _exported(full_site, tmp_path, ".jsonl")
    place = data.draw(st.integers(0, len(content) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    refused(full_site, tmp_path / "x.jsonl", content[:place] + bytes([other]) + content[place + 1 :])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150))
@given(st.data())
def test_any_missing_part_is_noticed(full_site, tmp_path, data):
    content = _exported(full_site, tmp_path, ".jsonl")
    first = data.draw(st.integers(0, len(content) - 1))
    last = data.draw(st.integers(first + 1, len(content)))
    refused(full_site, tmp_path / "x.jsonl", content[:first] + content[last:])


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(100))
@given(data=st.data())
def test_a_damaged_compressed_file_is_refused_or_has_the_same_content(full_site, tmp_path, ending, data):
    """A byte of the date in the head of a .gz says nothing about the site."""
    content = _exported(full_site, tmp_path, ending)
    place = data.draw(st.integers(0, len(content) - 1))
    damaged = data.draw(st.sampled_from([content[:place], content[:place] + b"\x7f" + content[place + 1 :]]))
    (tmp_path / f"x{ending}").write_bytes(damaged)
    try:
        import_(tmp_path / f"x{ending}")
    except CommandError:
        assert full_site.dbsize() == 0
    else:
        again = export(tmp_path / "again.jsonl")
        assert again.splitlines()[1:-1] == _KEPT[tmp_path].splitlines()[1:-1]
        empty(full_site)


_KEPT = {}


def _exported(raw, folder, ending):
    """The file of the site, which is empty afterwards."""
    path = folder / f"site{ending}"
    if not path.exists():
        _KEPT[folder] = export(folder / "kept.jsonl")
        export(path)
        empty(raw)
    return path.read_bytes()


BAD_FIELDS = [
    (person(0, "alice"), "id must be a whole number"),
    (person(True, "alice"), "id must be a whole number"),
    (person(1.5, "alice"), "id must be a whole number"),
    (person(2**53 + 1, "alice"), "id must be a whole number"),
    (person(1, ""), "username must be a text that is not empty"),
    (person(1, None), "username must be a text that is not empty"),
    (person(1, "alice", password="readable"), "password must be a hash"),
    (person(1, "alice", registered="yesterday"), "registered must be a time"),
    ({"type": "user", "id": 1, "username": "alice"}, "password must be a hash"),
    ({"type": "user", "id": 1, "username": "alice", "deleted": "2026-13-01T00:00:00Z"}, "deleted must be a time"),
    ({**POST, "text": 5}, "text must be a text"),
    ({**POST, "reply_to": "1"}, "reply_to must be a whole number"),
    ({**POST, "time": "2026-1-2T03:04:05Z"}, "time must be a time"),
    ({**FOLLOW, "since": None}, "since must be a time"),
    *(
        ({"type": "picture_file", "digest": "f" * 40, "size": "", "webp": webp}, "webp must be a WebP file in base64")
        for webp in ("", "A", "+ß+=", None)
    ),
    *(
        ({"type": "picture_file", "digest": "f" * 40, "size": size, "webp": "AA=="}, "size must be such as -600")
        for size in ("x600", "-", "-²", "-60000", "-animated2", None)
    ),
    ({"type": "poll", "id": 1}, "the type 'poll' is unknown"),
]


@pytest.mark.parametrize(("line", "what"), BAD_FIELDS)
def test_a_field_of_the_wrong_kind_is_named_with_its_line(raw, tmp_path, line, what):
    message = refused(raw, tmp_path / "x.jsonl", site_file([line]))
    assert message.startswith(f"Line 2: {what}")


def test_half_of_a_character_is_no_text(raw, tmp_path):
    content = site_file([person(1, "alice", bio="HALF")]).replace(b"HALF", b"\\ud800")
    assert refused(raw, tmp_path / "x.jsonl", content).startswith("Line 2: bio must be a text")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([person(1, "alice"), person(2, "bob"), person(1, "carol")], "Line 4: another user has this id"),
        ([person(1, "alice"), person(2, "bob"), person(3, "BOB")], "Line 4: another user has this username"),
        ([person(1, "alice"), POST, {**POST, "text": "other"}], "Line 4: another post has this id"),
        ([person(1, "alice"), POST, person(2, "bob")], "Line 4: a line with the type user must stand before"),
        ([POST, FOLLOW], "Line 3: a line with the type follow must stand before"),
    ],
)
def test_ids_and_names_are_unique_and_types_in_order(raw, tmp_path, lines, message):
    assert refused(raw, tmp_path / "x.jsonl", site_file(lines)).startswith(message)


def test_the_order_of_types_is_only_looked_at_where_a_type_begins():
    """A large file has millions of lines of a type."""
    content = site_file([person(number, f"user{number}") for number in range(1, 201)])
    verification = site_files.Verification(lambda: BytesIO(content))
    calls = python_calls(lambda: [*verification])
    assert verification.counts["user"] == 200
    assert calls["site_files.py:Verification._check_order.<locals>.<genexpr>"] < 200


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("values", "position"), [([5, 7, 6, 7, 8], 3), (["a", "B", "b"], 2), ([1, 2, 3, 4], None), ([], None)]
)
def test_a_value_that_stands_twice_is_found_among_any_number(monkeypatch, at_once, values, position):
    monkeypatch.setattr(chunks, "SORTED_AT_ONCE", at_once)
    found = site_files.Distinct()
    for value in values:
        found.add(value)
    assert found.repeated() == position


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"version": 2}, "Line 1: version is 2, but this site knows it up to 1. A newer version of the site"),
        ({"schema": 2}, "Line 1: schema is 2, but this site knows it up to 1. A newer version of the site"),
        ({"version": "1"}, "Line 1: version is no whole number"),
        ({"format": "retwis-export"}, "Line 1: this is the download of one person. Import it with"),
        ({"format": "another"}, "Line 1: this is no file that `manage.py export` has written"),
    ],
)
def test_a_file_of_another_kind_or_version_is_refused(raw, tmp_path, head, message):
    assert refused(raw, tmp_path / "x.jsonl", site_file([person(1, "alice")], **head)).startswith(message)


def test_a_file_without_a_line_or_with_more_below_its_end_is_refused(raw, tmp_path):
    content = site_file([person(1, "alice")])
    lines = content.splitlines(keepends=True)
    path = tmp_path / "x.jsonl"
    assert refused(raw, path, b"") == (
        "Line 1: there is no line with the type end. The file is damaged or not complete. Export it again."
    )
    assert refused(raw, path, lines[0]).startswith("Line 2: there is no line with the type end")
    assert refused(raw, path, content + lines[1]).startswith("Line 4: it stands below the line with the type end")
    assert refused(raw, path, lines[0] + lines[2]).startswith("Line 2: counts is not")
    assert refused(raw, path, b"[" * 100_000 + b"\n").startswith("Line 1: it is no JSON")
    assert refused(raw, path, b"x" * (1 << 26)).startswith("Line 1: it is too long")
    assert refused(raw, path, b"\xff\n").startswith("Line 1: it is no JSON")
    for line in (b"[]\n", b'{"id":1}\n', b'{"type":[]}\n'):
        assert refused(raw, path, line).startswith("Line 1: it is no object with a type")


@pytest.mark.parametrize(
    ("largest", "message"),
    [
        (b"[]", "largest is no object with an id for each of post, user"),
        (b'{"user":1}', "largest is no object with an id for each of post, user"),
        (b'{"user":-1,"post":0}', "largest of user must be a whole number"),
        (b'{"user":1,"post":true}', "largest of post must be a whole number"),
        (b'{"user":1,"post":9007199254740993}', "largest of post must be a whole number"),
    ],
)
def test_the_largest_ids_are_verified(raw, tmp_path, largest, message):
    content = site_file([person(1, "alice")]).replace(b'{"user":0,"post":0}', largest)
    assert refused(raw, tmp_path / "x.jsonl", content).startswith(f"Line 3: {message}")
