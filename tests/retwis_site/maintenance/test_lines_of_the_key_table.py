"""The lines of which the key table tells: each has a place in the file, and a bad value makes no line."""

import tracemalloc
from types import SimpleNamespace

import pytest

from retwis_site.features import site_lines
from retwis_site.maintenance.lines import lines_of, uids_in_order
from retwis_site.rendering.dates import LAST, iso, unix
from retwis_site.store import keys
from retwis_site.store.kinds import KINDS, OfId
from tests.support.maintenance.site_files import export, import_, of_type
from tests.support.people import LONG_AGO
from tests.support.runs.python_calls import python_calls
from tests.support.stored_keys import empty

TOLD = [told for told in (*KINDS.values(), *keys.user.fields.values()) if told.line]
NOT_AN_ID = {"x": 5, "": 6, "007": 7}
BAD = {  # by type: what holds nothing but bad values
    "like": lambda raw: raw.zadd("likes:1", NOT_AN_ID),
    "follow": lambda raw: raw.zadd("following:1", NOT_AN_ID),
    "follow_tag": lambda raw: raw.zadd("tags_of:1", {"": 1}),
    "home_tag": lambda raw: raw.zadd("home_tags:1", {"": 1}),
    "colour": lambda raw: raw.hset("user:1", "colour", "x"),
    "profile_picture": lambda raw: raw.hset("user:1", "picture", "x"),
    "profile_header": lambda raw: raw.hset("user:1", "header", ""),
    "facts": lambda raw: raw.hset("user:1", "facts", ""),
    "verified_links": lambda raw: raw.hset("user:1", "verified_links", ""),
    "pin": lambda raw: raw.hset("user:1", "pinned", "x"),
    "invited": lambda raw: raw.hset("user:1", "invited_by", "-1"),
    "recovery_code": lambda raw: raw.hset("user:1", "recovery:XYZ", "17"),
    "blocked_name": lambda raw: raw.hset("blocked_names", "", "17"),
}


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.name)
def test_what_the_table_tells_stands_in_the_file_with_these_names(told):
    type_, *names = told.line.split()
    assert list(site_lines()[type_].fields({})) == names


@pytest.mark.parametrize("told", [told for told in TOLD if isinstance(told, OfId) and told.main.check == "id"], ids=str)
def test_an_id_is_a_number_in_the_file(told):
    type_, _, whom, _ = told.line.split()
    field = site_lines()[type_].fields({})[whom]
    assert field.accepts(12)
    assert not field.accepts("12")


@pytest.mark.parametrize("type_", BAD)
def test_a_bad_value_makes_no_line_and_the_file_is_imported(raw, alice, tmp_path, type_):
    BAD[type_](raw)
    path = tmp_path / "site.jsonl"
    assert of_type(export(path, damaged=True), type_) == []
    empty(raw)
    import_(path)
    assert raw.hget("user:1", "username") == "Alice"


def test_a_score_that_is_no_time_becomes_the_last_one_where_none_means_for_ever(raw, store, alice):
    raw.zadd("likes:1", {"7": "+inf"})
    raw.zadd("muted:1", {"7": "+inf"})
    assert [line["time"] for line in lines_of(keys.likes).read(store)] == ["9999-12-31T23:59:59Z"]
    assert [line["until"] for line in lines_of(keys.muted).read(store)] == [None]


def test_the_fields_of_a_deleted_account_make_no_lines(raw, store, alice):
    raw.hset("user:1", mapping={"pinned": 1, "invited_by": 2, f"recovery:{'0a' * 16}": LONG_AGO, "deleted": LONG_AGO})
    for field in ("pinned", "invited_by", "recovery:<hash>"):
        assert list(lines_of(keys.user.fields[field]).read(store)) == []


def test_the_ids_of_many_users_take_little_memory():
    """In a dict, those of a million users take 100 MB."""
    number = 300_000
    some = ([("", str(uid)) for uid in (number, *range(first, first + 500))] for first in range(1, number, 500))
    store = SimpleNamespace(hash_fields=lambda key, count: some)
    tracemalloc.start()
    try:
        found = 0
        for uids in uids_in_order(store):
            assert uids == [*range(found + 1, found + len(uids) + 1)]
            found += len(uids)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == number
    assert most < 40 * number


def test_a_date_in_a_line_is_read_as_it_is_written_and_in_few_steps():
    """An import reads each date twice: strptime took a quarter of it."""
    for seconds in (0, 1_700_000_000, LAST):
        assert unix(iso(seconds)) == seconds
    others = ("2024-01-01", "2024-01-01 00:00:00Z", "20240101T000000Z", "2024-01-01T00:00:00+00:00")
    for text in (*others, "2024-01-01T00:00:00.000Z", "2024-02-30T00:00:00Z", "1969-12-31T23:59:59Z", "\ud800", ""):
        assert unix(text) is None
    assert python_calls(lambda: unix("2024-01-01T00:00:00Z")).total() <= 4


@pytest.mark.parametrize("score", ["-inf", -1, 0, 0.5, LAST + 1, 1e300, "+inf"])
def test_an_export_does_not_read_again_the_dates_that_it_writes(raw, store, alice, score):
    """Any score makes a right date, and in a large site nearly every line has one."""
    told = {keys.likes: "time", keys.muted: "until"}
    for kind, field in told.items():
        raw.zadd(kind(1), {"7": score})
        lines = lines_of(kind)
        found = []
        assert python_calls(lambda some=found, of=lines: some.extend(of.read(store)))["dates.py:unix"] == 0
        assert [lines.fields({})[field].accepts(line[field]) for line in found] == [True]
