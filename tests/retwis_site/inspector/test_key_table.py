"""The key table: which kind a key is of, and what the table says of each kind."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from retwis_site.inspector.key_browser import line_of, spans
from retwis_site.store import keys, kinds
from retwis_site.store.kinds import KINDS, NOT_KNOWN, TEXT, OfId, String, declare, kind_of, may_be


def test_each_kind_of_key_says_how_it_grows():
    assert [kind.name for kind in KINDS.values() if kind.grows is NOT_KNOWN] == []


def test_a_function_of_the_table_makes_a_key_of_its_kind():
    arguments = {"uid": 7, "pid": 7, "rid": 7, "year": 2026, "first": 16_384, "group": 1, "bucket": 7, "key": "user:7"}
    for name, kind in vars(keys).items():
        if kind in KINDS.values() and kind is not keys.damaged:
            parts = kind.parts or {"timeline": [7], "recent": [7], "outbox": ["post:7"]}.get(name, [])
            assert kind_of(kind(*(arguments.get(part, part) for part in parts))) is kind, name


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


@pytest.mark.parametrize(
    ("key", "may"),
    [("user:settings", True), ("tag", False), ("user", False), ("another", False), ("outbox:abc", False)],
)
def test_a_key_with_a_word_of_the_table_may_be_one_of_another_retwis(key, may):
    assert (may_be(key) is not None) is may
    assert kind_of(key) is None


def test_code_in_a_line_is_told_from_words():
    assert spans("the mirror of `likes:`") == [(False, "the mirror of "), (True, "likes:")]


def test_two_kinds_may_not_begin_alike():
    with pytest.raises(ImproperlyConfigured, match="rename one"):
        OfId("user:<uid>", String())


def test_a_feature_says_more_of_a_kind_whose_type_alone_was_known(declared):
    declare({"motto:*": "string", "mottos": "zset"})
    motto = OfId("motto:<uid>", String(TEXT))
    assert kind_of("motto:7") is kinds.KINDS["motto:"] is motto
    assert kind_of("mottos").type == "zset"


def test_jobs_at_work_are_told_also_of_a_member_with_spaces():
    assert keys.muted_words.jobs_on(7, "home hide two words") == {"mute_words:7:home hide two words"}


@pytest.fixture
def declared(monkeypatch):
    """Kinds that a test declares are forgotten after it."""
    monkeypatch.setattr(kinds, "KINDS", dict(KINDS))
