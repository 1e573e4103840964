"""One key: what the server says of it, and those of its members that a viewer may see."""

import pytest

from retwis_site.exceptions import BadCursor
from retwis_site.inspector import key_browser
from retwis_site.inspector.key_browser import NO_KEY, Cell, OneKey, TableRow, beginning, line_of
from retwis_site.store.kinds import What
from tests.support.stored_posts import write_posts

ALICE, BOB = 1, 2


@pytest.fixture
def look(store):
    return lambda key, begin=0, viewer=None: OneKey(store, key, line_of(key)).look(begin, viewer)


def texts(found):
    return [(row.name.text, row.value.text if row.value else None) for row in found.rows]


def test_a_sorted_set_begins_with_the_highest_score(raw, look):
    raw.zadd("updates:1", {"5": 5, "7": 7})
    found = look("updates:1")
    assert (found.type, found.length, found.ttl, found.further) == ("zset", 2, None, None)
    assert found.rows == [
        TableRow(Cell("7", What.POST), Cell("7", What.POST)),
        TableRow(Cell("5", What.POST), Cell("5", What.POST)),
    ]


def test_a_list_is_shown_in_its_order(raw, look):
    raw.rpush("posts:1", "9", "4", "~x")
    found = look("posts:1")
    assert texts(found) == [("9", None), ("4", None), ("~x", None)]
    assert [row.name.ids for row in found.rows] == [[9], [4], []]


def test_a_string_has_its_text_and_its_length(raw, look):
    raw.set("next_post_id", "17")
    found = look("next_post_id")
    assert (found.type, found.length) == ("string", 2)
    assert texts(found) == [("17", None)]


def test_a_hash_has_its_fields_by_name(raw, look):
    raw.hset("post:1", mapping={"user_id": "1", "body": "hello", "mentions": "2 3"})
    found = look("post:1")
    assert texts(found) == [("body", "hello"), ("mentions", "2 3"), ("user_id", "1")]
    assert [row.value.ids for row in found.rows] == [[], [2, 3], [1]]


def test_a_key_that_expires_says_when(raw, look):
    raw.set("health", "1", ex=60)
    assert 0 < look("health").ttl <= 60


def test_a_key_that_is_not_there(raw, look, round_trips):
    recorded = round_trips(lambda: look("user:9"))
    assert look("user:9").type == NO_KEY
    assert len(recorded.round_trips) == 1


def test_a_large_key_is_read_in_pages(raw, look, monkeypatch):
    monkeypatch.setattr(key_browser, "A_PAGE", 2)
    write_posts(raw, ALICE, range(1, 6))
    first = look("updates:1")
    second = look("updates:1", first.further)
    third = look("updates:1", second.further)
    assert [name for page in (first, second, third) for name, _ in texts(page)] == ["5", "4", "3", "2", "1"]
    assert third.further is None


def test_a_large_hash_is_read_by_its_cursor(raw, look, monkeypatch):
    raw.hset("tags", mapping={f"tag{number}": "x" * 70 for number in range(700)})
    found = look("tags")
    seen = {name for name, _ in texts(found)}
    while found.further is not None:
        found = look("tags", found.further)
        seen |= {name for name, _ in texts(found)}
    assert len(seen) == 700


@pytest.mark.one_server
def test_it_costs_three_round_trips_and_writes_nothing(raw, look, round_trips):
    raw.zadd("updates:1", {"5": 5})
    recorded = round_trips(lambda: look("updates:1"))
    assert len(recorded.round_trips) == 3
    assert {command[0] for command in recorded.commands} <= {"TYPE", "TTL", "OBJECT", "MEMORY", "ZCARD", "ZREVRANGE"}


@pytest.mark.real_server
def test_encoding_and_memory_are_those_of_the_server(raw, look):
    raw.zadd("updates:1", {"5": 5})
    found = look("updates:1")
    assert found.encoding == raw.object("encoding", "updates:1")
    assert found.memory == raw.memory_usage("updates:1")
    assert found.refusal == ""


@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.parametrize("right", ["-object|encoding", "-memory|usage"])
def test_without_the_right_the_rest_is_shown(raw, look, rights, right):
    raw.zadd("updates:1", {"5": 5})
    rights(right)
    found = look("updates:1")
    assert (found.encoding, found.memory) == (None, None)
    assert "docs/redis.md" in found.refusal
    assert texts(found) == [("5", "5")]


# ---- what is not shown


SECRETS = {
    "password": "argon2-of-alice",
    "old_password": "md5-of-alice",
    "auth": "secret-of-the-account",
    "session:s3cret1": "17:g:Firefox:Linux",
    "used:s3cret1": "1795",
    "recovery:c0de": "1796",
    "appeal": '{"text": "please"}',
    "state_reason": "for-staff-alone",
    "act:4ct": "a-line-of-the-log",
}


@pytest.mark.parametrize("viewer", [None, ALICE, BOB])
def test_no_secret_of_an_account_is_shown(raw, look, viewer):
    raw.hset("user:1", mapping={"username": "Alice", **SECRETS})
    found = look("user:1", viewer=viewer)
    assert ("username", "Alice") in texts(found)
    shown = str(found)
    for secret in (*SECRETS.values(), "s3cret1", "c0de", "4ct"):
        assert secret not in shown


def test_the_size_of_a_hidden_value_is_said(raw, look):
    raw.hset("user:1", "password", "12345")
    [row] = look("user:1").rows
    assert row.value == Cell(None, size=5)


def test_a_private_field_is_shown_to_its_owner_alone(raw, look):
    raw.hset("user:1", "quiet", "like follow")
    assert texts(look("user:1", viewer=ALICE)) == [("quiet", "like follow")]
    assert texts(look("user:1", viewer=BOB)) == texts(look("user:1")) == [("quiet", None)]


@pytest.mark.parametrize("key", ["bookmarks:1", "muted:1", "blocked:1", "likes:1", "notices:1", "muted_words:1"])
def test_a_private_key_is_read_for_its_owner_alone(raw, look, round_trips, key):
    raw.zadd(key, {"home hide 5": 1})
    assert texts(look(key, viewer=ALICE)) == [("home hide 5", "1")]
    for viewer in (BOB, None):
        found = look(key, viewer=viewer)
        assert (found.length, found.rows, found.is_shown) == (1, [], False)
    assert "ZREVRANGE" not in {command[0] for command in round_trips(lambda: look(key, viewer=BOB)).commands}


def test_nobody_learns_who_blocks_them(raw, look):
    raw.zadd("blocked_by:1", {"2": 1})
    assert look("blocked_by:1", viewer=ALICE).rows == []


SIZE_ALONE = ["auths", "applications", "invites:1", "staff", "log:2026", "acts:1", "report:1", "reset:d1gest"]
SIZE_ALONE += ["credentials:1", "factor_uses:1", "challenge:d1gest"]
SIZE_ALONE += ["idem:1:t", "throttle:login:127.0.0.1", "blocked_names", "damaged:user:1", "reports", "reports_by:1"]


@pytest.mark.parametrize("key", SIZE_ALONE)
def test_only_the_size_of_a_secret_key_is_shown(raw, look, key):
    kind = line_of(key).type
    raw.flushall()
    {"hash": lambda: raw.hset(key, "s3cret", "s3cret"), "zset": lambda: raw.zadd(key, {"s3cret": 1})}.get(
        kind, lambda: raw.set(key, "s3cret")
    )()
    found = look(key, viewer=ALICE)
    assert found.length > 0
    assert not found.is_shown
    assert "s3cret" not in str(found)


def test_a_job_is_shown_without_the_secret_in_its_name(raw, look):
    raw.zadd("outbox", {"auth:1:s3cret:n0nce": 5, "post:7:n0nce": 5})
    assert "s3cret" not in str(look("outbox"))
    assert "post:7" in str(look("outbox"))


def test_the_index_of_the_search_is_no_text(raw, look):
    raw.set("postings:0:7", b"\xff\x00\x01\x80")
    found = look("postings:0:7")
    assert (found.length, found.rows) == (4, [])


def test_a_key_of_the_wrong_type_has_its_size_alone(raw, look):
    raw.rpush("user:1", "s3cret")
    found = look("user:1", viewer=ALICE)
    assert (found.type, found.length, found.rows) == ("list", 1, [])


@pytest.mark.parametrize("key", ["followers:1", "damaged:x"])
def test_a_key_of_a_type_that_the_site_never_writes_has_its_memory_alone(raw, look, key):
    raw.sadd(key, "2")
    found = look(key)
    assert (found.type, found.length, found.rows, found.refusal) == ("set", 0, [], "")
    assert found.memory > 0


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "٣", "9" * 30])
def test_what_is_no_beginning_is_a_bad_cursor(text):
    with pytest.raises(BadCursor):
        beginning(text)


def test_a_page_without_a_cursor_begins_at_the_beginning():
    assert beginning(None) == 0
