"""An import from the database of Retwis-RB, and from that of retwis-py."""

import pickle

import pytest

from tests.support.other_retwises.imported import follows, logs_in, posts
from tests.support.other_retwises.retwis_rb import PythonRetwis, RubyRetwis

NOON = 1244890800  # 13 June 2009, 12:00 at +0100


def fill(site):
    for name in ("Alice", "bob"):
        site.register(name, f"the password of {name}")
    site.follow(1, 2)
    site.post(2, "Hello", "2009-06-13 12:00:00 +0100")
    site.post(1, "Me too", "Sat Jun 13 12:00:01 +0100 2009")
    site.post(1, "In UTC", "Sat Jun 13 11:00:02 UTC 2009")
    site.post(1, "In UTC too", "2009-06-13 11:00:03 UTC")


def test_people_follows_and_posts_with_times_in_both_forms(raw, source, importing):
    fill(RubyRetwis(source.raw))
    importing()
    assert raw.hgetall("users") == {"alice": "1", "bob": "2"}
    assert follows(raw) == {(1, 2): 0}
    assert posts(raw) == {
        1: (2, NOON, "Hello"),
        2: (1, NOON + 1, "Me too"),
        3: (1, NOON + 2, "In UTC"),
        4: (1, NOON + 3, "In UTC too"),
    }


def test_a_salted_md5_is_kept_until_the_first_login_replaces_it(raw, source, importing):
    fill(RubyRetwis(source.raw))
    assert "passwords kept as salted MD5 until the next login: 2" in importing()
    assert raw.hget("user:1", "old_password").startswith("md5$")
    assert not raw.hexists("user:1", "password")
    assert not logs_in("alice", "the password of bob")
    assert logs_in("alice", "the password of Alice")
    assert not raw.hexists("user:1", "old_password")
    assert raw.hget("user:1", "password").startswith("argon2$")
    assert logs_in("alice", "the password of Alice")


@pytest.mark.parametrize(
    ("field", "value"), [("salt", ""), ("salt", "a$b"), ("salt", b"\xff"), ("hashed_password", "x")]
)
def test_a_damaged_hash_is_no_password(raw, source, importing, field, value):
    fill(RubyRetwis(source.raw))
    source.raw.set(f"user:id:1:{field}", value)
    assert "people without a password that can be verified (`manage.py user password NAME` sets one): 1" in importing()


def test_retwis_py_gives_people_their_own_passwords(raw, source, importing):
    fill(PythonRetwis(source.raw))
    printed = importing()
    assert "Layout: retwis-py" in printed
    assert "passwords hashed while importing: 2" in printed
    assert logs_in("bob", "the password of bob")
    assert not logs_in("bob", "retwisthe password of bob")
    assert [when for _, when, _ in posts(raw).values()] == [0] * 4


class Bomb:
    """Raises an error when its pickle is loaded."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_a_pickle_in_a_session_key_is_never_read(source, importing, sent):
    site = PythonRetwis(source.raw)
    fill(site)
    site.open_session(pickle.dumps(Bomb()))
    importing()
    assert not [command for command in sent.commands if "abcdefgh" in command]
