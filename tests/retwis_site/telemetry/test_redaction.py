"""What the inspector hides of commands and keys."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from retwis_site.store import kinds
from retwis_site.store.kinds import EVERYONE, TEXT, OfText, OfTwo, String
from retwis_site.telemetry.redaction import (
    HIDDEN,
    MOST_ARGUMENTS,
    logged_command,
    shown_arguments,
    shown_command,
    shown_key,
)

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (("HGET", "auths", SECRET), (HIDDEN,)),
        (("HSET", "auths", SECRET, "7"), (HIDDEN, HIDDEN)),
        (
            ("HMGET", "user:7", "username", "password", f"session:{SECRET}"),
            ("username", "password", f"session:{HIDDEN}"),
        ),
        (("HSET", "user:7", "name", "Ann", "password", "argon2$x"), ("name", "Ann", "password", HIDDEN)),
        (("HSET", "user:7", f"used:{SECRET}", "1"), (f"used:{HIDDEN}", HIDDEN)),
        (("HSETNX", "user:7", "auth", SECRET), ("auth", HIDDEN)),
        (("HSETNX", "credentials:7", "totp", f"1:{SECRET}"), (HIDDEN, HIDDEN)),
        (("HSETNX", "credentials:7", "passkey:abc", "{json}"), (HIDDEN, HIDDEN)),
        (("ZADD", "factor_uses:7", "GT", "CH", 7, SECRET), (HIDDEN, HIDDEN, "7", HIDDEN)),
        (("SET", f"challenge:{SECRET}", "7", "NX", "EX", 300), ("7", "NX", "EX", "300")),
        (("HSET", "user:7", f"token:{SECRET}", "1::tusky:read"), (f"token:{HIDDEN}", HIDDEN)),
        (("HSET", "app:tusky", "name", "Tusky", "secret", SECRET), ("name", "Tusky", "secret", HIDDEN)),
        (("SET", f"code:{SECRET}", "{json}", "EX", 600), (HIDDEN, "EX", "600")),
        (("HSET", "user:7", "state_reason", "spam"), ("state_reason", HIDDEN)),
        (("HINCRBY", "invites:7", f"7-99-{SECRET}", -1), (HIDDEN, HIDDEN)),
        (("HSETNX", "applications", "ann", "{json}"), (HIDDEN, HIDDEN)),
        (("SET", f"reset:{SECRET}", "7:1", "EX", 86400), (HIDDEN, "EX", "86400")),
        (("SET", f"idem:7:{SECRET}", "12", "NX", "EX", 86400), ("12", "NX", "EX", "86400")),
        (("ZADD", "outbox", 1700000000, f"auth:7:{SECRET}"), ("1700000000", f"auth:7:{HIDDEN}")),
        (("ZADD", "log:2026", 1700000000, "{json}"), ("1700000000", HIDDEN)),
        (("ZRANGE", "log:2026", 0, -1, "WITHSCORES"), ("0", "-1", "WITHSCORES")),
        (("HSET", "post:7", "body", "hello", "unknown", "x"), ("body", "hello", "unknown", HIDDEN)),
        (("APPEND", "postings:0:7", b"\x00"), (HIDDEN,)),
        (("LPUSHX", "posts:7", "12"), ("12",)),
        (("SCAN", 0, "MATCH", f"auths:{SECRET}", "COUNT", 10), ("0", "MATCH", HIDDEN, "COUNT", "10")),
        (("GET", "no such kind"), ()),
    ],
)
def test_secrets_are_hidden_and_the_rest_is_shown(command, shown):
    assert shown_arguments(command) == shown


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("user:7", "user:7"),
        (f"idem:7:{SECRET}", f"idem:7:{HIDDEN}"),
        (f"lease:auth:7:{SECRET}", f"lease:auth:7:{HIDDEN}"),
        (f"reset:{SECRET}", f"reset:{HIDDEN}"),
        (f"challenge:{SECRET}", f"challenge:{HIDDEN}"),
        (f"code:{SECRET}", f"code:{HIDDEN}"),
        (f"spent_code:{SECRET}", f"spent_code:{HIDDEN}"),
        (f"calls:{SECRET}:7", f"calls:{HIDDEN}"),
        (f"inspected:{SECRET}", f"inspected:{HIDDEN}"),
        ("throttle:post:7", "throttle:post:7"),
        ("throttle:login:2001:db8::7", f"throttle:login:{HIDDEN}"),
        (f"damaged:reset:{SECRET}", f"damaged:{HIDDEN}"),
        (f"somebody else's:{SECRET}", HIDDEN),
    ],
)
def test_a_key_is_shown_without_what_is_secret_in_it(key, shown):
    assert shown_key(key) == shown


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("dev:throttle:post:7", "dev:throttle:post:7"),
        ("dev:throttle:login:192.0.2.1", f"dev:throttle:login:{HIDDEN}"),
        ("dev:lease:like:1:2:n0nce", f"dev:lease:like:1:2:{HIDDEN}"),
        ("dev:idem:7:t0ken", f"dev:idem:7:{HIDDEN}"),
        ("dev:reset:d1gest", f"dev:reset:{HIDDEN}"),
    ],
)
def test_a_key_keeps_the_prefix_of_the_site(monkeypatch, key, shown):
    monkeypatch.setattr("retwis_site.store.kinds.PREFIX", "dev:")
    assert shown_key(key) == shown


@pytest.fixture
def doors(monkeypatch):
    """A kind of a site's own feature, whose names have a secret after an id."""
    monkeypatch.setattr(kinds, "KINDS", dict(kinds.KINDS))
    return OfTwo("doors:<uid>:<pin>", String(TEXT), shown=EVERYONE, hides="pin")


@pytest.mark.parametrize("pin", ["123456", "s3cret", "s3:cret"])
def test_a_kind_that_says_what_is_secret_in_its_names_is_shown_without_it(doors, pin):
    key, shown = doors(7, pin), f"doors:7:{HIDDEN}"
    assert shown_key(key) == shown
    assert str(shown_command(("SET", key, "open"))) == f"SET {shown} open"
    assert logged_command(("GET", key)) == f"GET {shown}"
    assert logged_command(("MEMORY", "USAGE", key)) == f"MEMORY USAGE {shown}"


def test_a_secret_part_that_its_names_do_not_have_is_refused(doors):
    with pytest.raises(ImproperlyConfigured, match="no part <pim>"):
        OfText("pins:<pin>", String(TEXT), hides="pim")


def test_long_texts_and_many_arguments_are_cut():
    [_, body] = shown_arguments(("HSET", "post:7", "body", "a" * 1000))
    assert len(body) < 100
    assert len(shown_arguments(("ZMSCORE", "likes:7", *map(str, range(1000))))) == MOST_ARGUMENTS + 1


def test_members_are_told_from_scores_also_where_a_long_command_is_cut():
    command = ("ZADD", "blocked:7", *(part for uid in range(100, 140) for part in (1700000000, str(uid))))
    assert set(shown_arguments(command)[:-1:2]) == {"1700000000"}
    assert set(shown_arguments(command)[1:-1:2]) == {HIDDEN}


@pytest.mark.parametrize(
    ("command", "logged"),
    [
        (("ZADD", "blocked:7", 1700000000, "9"), f"ZADD blocked:7 1700000000 {HIDDEN}"),
        (("ZADD", "blocked_by:9", "NX", 1700000000, "7"), f"ZADD blocked_by:9 NX 1700000000 {HIDDEN}"),
        (("ZREM", "blocked:7", "9"), f"ZREM blocked:7 {HIDDEN}"),
        (("ZMSCORE", "blocked:7", "9", "10"), f"ZMSCORE blocked:7 {HIDDEN} {HIDDEN}"),
        (("ZADD", "reports_about:7", 1700000000, "1700000000"), f"ZADD reports_about:7 {HIDDEN} {HIDDEN}"),
        (("ZREVRANGEBYSCORE", "reports", "(1700000000", "-inf"), f"ZREVRANGEBYSCORE reports {HIDDEN} -inf"),
        (("ZREVRANGE", "reports", 0, 20), "ZREVRANGE reports 0 20"),
        (("ZADD", "muted_words:7", "inf", "home hide war"), f"ZADD muted_words:7 inf {HIDDEN}"),
        (("ZRANGE", "blocked:7", 0, 49), "ZRANGE blocked:7 0 49"),
        (("ZADD", "likes:7", 1700000000, "9"), "ZADD likes:7 1700000000 9"),
    ],
)
def test_the_slow_log_does_not_say_whom_somebody_blocks_or_reports_and_which_words_they_mute(command, logged):
    assert logged_command(command) == logged
