"""An import from the database of retwis-symfony: also likes, and PHP's hashes."""

import hashlib
from base64 import b64encode

import argon2
import bcrypt
import pytest

from tests.support.other_retwises.imported import follows, logs_in, posts
from tests.support.other_retwises.retwis_symfony import SymfonyRetwis
from tests.support.people import LONG_AGO, PASSWORD


def php_bcrypt(password, prefix=b"$2y$"):
    return bcrypt.hashpw(password, bcrypt.gensalt(4)).replace(b"$2b$", prefix).decode()


def argon(password):
    return argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(password)


@pytest.fixture
def site(source):
    """Alice follows bob and likes his post."""
    site = SymfonyRetwis(source.raw)
    site.register("Alice", php_bcrypt(PASSWORD.encode()), LONG_AGO, name="Alice L.", bio="I fell.", location="there")
    site.register("bob", argon(PASSWORD), LONG_AGO, registered="2023-11-14T22:13:25+00:00")
    site.follow(1, 2, LONG_AGO + 10)
    site.post(2, "Hello #tag", LONG_AGO + 20)
    site.like(1, 1, LONG_AGO + 30)
    return site


def test_people_follows_posts_and_likes(raw, site, importing):
    printed = importing()
    assert raw.hgetall("users") == {"alice": "1", "bob": "2"}
    assert raw.hmget("user:1", "name", "bio") == ["Alice L.", "I fell."]
    assert raw.zscore("users_by_time", "bob") == LONG_AGO + 5
    assert follows(raw) == {(1, 2): LONG_AGO + 10}
    assert posts(raw) == {1: (2, LONG_AGO + 20, "Hello #tag")}
    assert raw.zrange("likes:1", 0, -1, withscores=True) == [("1", LONG_AGO + 30)]
    assert raw.zrange("liked_by:1", 0, -1, withscores=True) == [("1", LONG_AGO + 30)]
    assert "people: 2, follows: 1, likes: 1" in printed


def test_a_like_of_an_unknown_post_is_counted(raw, site, importing):
    site.like(2, 99, LONG_AGO)
    assert "not imported: like lines about unknown users or posts: 1" in importing()
    assert raw.keys("likes:*") == ["likes:1"]


@pytest.mark.parametrize("prefix", [b"$2y$", b"$2b$", b"$2a$"])
def test_a_bcrypt_hash_is_kept_until_the_first_login_replaces_it(raw, site, source, importing, prefix):
    source.raw.hset("user:1", "password", php_bcrypt(PASSWORD.encode(), prefix))
    assert "passwords kept as bcrypt until the next login: 1" in importing()
    assert raw.hget("user:1", "old_password").startswith("bcrypt$$2")
    assert not logs_in("alice", "wrong")
    assert logs_in("alice", PASSWORD)
    assert raw.hget("user:1", "password").startswith("argon2$")
    assert not raw.hexists("user:1", "old_password")


def test_an_argon2_hash_is_taken_over(raw, site, importing):
    assert "passwords taken over, as Argon2: 1" in importing()
    assert raw.hget("user:2", "password").startswith("argon2$argon2id$")
    assert logs_in("bob", PASSWORD)


def test_a_password_of_more_than_72_bytes_works_as_symfony_hashes_it(site, source, importing):
    long = "ä" * 50
    source.raw.hset("user:1", "password", php_bcrypt(b64encode(hashlib.sha512(long.encode()).digest())[:72]))
    importing()
    assert not logs_in("alice", long + "x")
    assert logs_in("alice", long)


ARGON = "$argon2id$v=19$m=19456,t=2,p=1"
SALT, DIGEST = b64encode(b"s" * 18).decode(), b64encode(b"d" * 33).decode()
DAMAGED = [
    *("", "$6$rounds=5000$salt$hash", "plain", "$2y$04$short", "$argon2id$v=19$cut", "ä"),
    *(f"$2y${cost}${'a' * 53}" for cost in ("99", "03", "17")),
    *(f"{ARGON}${rest}" for rest in ("a$b", f"{SALT}$b", f"a${DIGEST}", f"{SALT}a${DIGEST}", f"sä{SALT}${DIGEST}")),
    *(f"$argon2id$v=19${cost}${SALT}${DIGEST}" for cost in ("m=999999999,t=2,p=1", "m=64,t=999,p=1", "m=8,t=2,p=9")),
]


@pytest.mark.parametrize("stored", DAMAGED)
def test_any_other_password_is_none(raw, site, source, importing, stored):
    source.raw.hset("user:1", "password", stored)
    assert "people without a password that can be verified (`manage.py user password NAME` sets one): 1" in importing()
    assert raw.hget("user:1", "password").startswith("!")
    assert not logs_in("alice", stored or PASSWORD)
