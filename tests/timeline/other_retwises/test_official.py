"""An import from the database of the official PHP of 2014, and from that of pytwis, which is much like it."""

import pytest
from django.contrib.auth.hashers import make_password

from accounts.users.adoption import hash_of_official
from tests.support.maintenance.official_database import OfficialDatabase
from tests.support.other_retwises.imported import follows, logs_in, own_posts, posts
from tests.support.people import LONG_AGO
from tests.support.stored_keys import ranking


@pytest.fixture
def site(source):
    """Amelia follows bob; the third is `amelia` in small letters."""
    site = OfficialDatabase(source.raw)
    for number, name in enumerate(("Amelia", "bob", "amelia")):
        site.register(name, f"password of {number}", LONG_AGO + number)
    site.follow(1, 2, LONG_AGO + 10)
    site.post(2, "Hello | there", LONG_AGO + 20)
    site.post(1, "Me too", LONG_AGO + 30)
    return site


def test_people_follows_and_posts_keep_their_ids_and_times(raw, site, importing):
    importing()
    assert raw.hgetall("users") == {"amelia": "1", "bob": "2", "amelia_3": "3"}
    assert dict(raw.zrange("users_by_time", 0, -1, withscores=True)) == {
        "Amelia": LONG_AGO,
        "bob": LONG_AGO + 1,
        "amelia_3": LONG_AGO + 2,
    }
    assert follows(raw) == {(1, 2): LONG_AGO + 10}
    assert posts(raw) == {1: (2, LONG_AGO + 20, "Hello | there"), 2: (1, LONG_AGO + 30, "Me too")}
    assert (own_posts(raw, 1), own_posts(raw, 2)) == ([2], [1])
    assert ranking(raw) == {"2": 1}
    assert [raw.get(key) for key in ("next_user_id", "next_post_id", "schema")] == ["3", "2", "1"]


def test_clear_passwords_are_hashed_and_still_work(raw, site, importing):
    assert "passwords hashed while importing: 3" in importing()
    assert raw.hget("user:1", "password").startswith("argon2trimmed$")
    assert logs_in("bob", "password of 1")
    assert logs_in("bob", "password of 1 ")  # the PHP trims a password whenever it is typed
    assert logs_in("amelia", "password of 0")
    assert logs_in("amelia_3", "password of 2")
    assert not logs_in("amelia", "password of 2")


def test_the_secrets_of_old_sessions_open_nothing(raw, site, importing):
    importing()
    assert set(raw.hgetall("auths")).isdisjoint(site.secret(uid) for uid in range(1, 4))


def test_the_summary_names_who_has_another_name(site, importing):
    assert "renamed: 'amelia' (user 3) is now 'amelia_3'; another user has that name" in importing()


def test_posts_of_unknown_people_and_follows_of_them_are_counted(raw, site, source, importing):
    source.raw.delete("user:2")
    printed = importing()
    assert posts(raw) == {2: (1, LONG_AGO + 30, "Me too")}
    assert follows(raw) == {}
    assert "note: posts without a known author: 1 (post 1)" in printed
    assert "note: follows of unknown people: 1 (user 1 follows user 2)" in printed


def test_a_person_without_a_name_is_left_out(raw, site, source, importing):
    source.raw.hdel("user:2", "username")
    assert "note: people without a name: 1 (user 2)" in importing()
    assert sorted(raw.keys("user:*")) == ["user:1", "user:3"]
    assert list(posts(raw)) == [2]


def test_posts_above_the_counter_and_far_above_are_found(raw, site, source, importing):
    source.raw.set("next_post_id", 1)
    source.raw.hset("post:900000001", mapping={"user_id": 1, "time": LONG_AGO, "body": "far"})
    importing()
    assert list(posts(raw)) == [1, 2, 900000001]
    assert raw.get("next_post_id") == "900000001"


def test_bytes_that_are_not_utf_8_are_replaced_and_counted(raw, site, source, importing):
    source.raw.hset("post:1", "body", b"caf\xe9")
    source.raw.hset("user:2", "username", b"b\xf6b")
    printed = importing()
    assert posts(raw)[1][2] == "caf\ufffd"
    assert raw.hget("user:2", "username") == "b\ufffdb"
    assert "note: texts with bytes that are not UTF-8, which are replaced: 2 (the name of user 2, post 1)" in printed


def test_a_password_may_have_any_characters(raw, site, source, importing):
    source.raw.hset("user:2", "password", "ä\u00a0\u200d 世界\t")
    importing()
    assert logs_in("bob", "ä\u00a0\u200d 世界\t")


def test_a_hash_of_this_site_is_taken_over(raw, site, source, importing):
    source.raw.hset("user:1", "password", make_password("a password"))
    source.raw.hset("user:2", "password", make_password(None))
    source.raw.hset("user:3", "password", hash_of_official("another one"))
    printed = importing()
    assert "passwords taken over, as Argon2: 1" in printed
    assert "passwords taken over, as Argon2 of an adopted account: 1" in printed
    assert logs_in("amelia", "a password")
    assert not logs_in("amelia", "a password ")
    assert logs_in("amelia_3", "another one ")
    assert not logs_in("bob", source.raw.hget("user:2", "password"))


def test_a_password_that_cannot_be_typed_is_counted_as_none(raw, site, source, importing):
    source.raw.hset("user:1", "password", "x" * 129)
    source.raw.hset("user:3", "password", "a null \0 in it")
    assert "people without a password that can be verified (`manage.py user password NAME` sets one): 2" in importing()
    assert raw.hget("user:1", "password").startswith("!")


def test_a_password_in_latin_1_is_kept(raw, site, source, importing):
    source.raw.hset("user:2", "password", "café au lait".encode("latin-1"))
    assert "passwords hashed while importing: 3" in importing()
    assert logs_in("bob", "café au lait")


def test_the_posts_of_pytwis_have_names_of_their_own(raw, site, source, importing):
    source.raw.delete("next_post_id", "post:1", "post:2", "users_by_time")
    for pid, author in ((1, 2), (2, 1)):
        source.raw.hset(f"tweet:{pid}", mapping={"userid": author, "unix_time": LONG_AGO + pid, "body": f"tweet {pid}"})
        source.raw.incr("next_tweet_id")
    source.raw.hdel("user:1", "password")
    source.raw.hset("user:1", "password_hash", "pbkdf2:sha512:50000$salt$0123")
    printed = importing()
    assert posts(raw) == {1: (2, LONG_AGO + 1, "tweet 1"), 2: (1, LONG_AGO + 2, "tweet 2")}
    assert follows(raw) == {(1, 2): LONG_AGO + 10}
    assert "people without a password that can be verified (`manage.py user password NAME` sets one): 1" in printed
    assert logs_in("bob", "password of 1")
