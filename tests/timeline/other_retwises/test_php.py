"""An import from the database of the official PHP of 2009 to 2011, and from those of its dialects."""

import pytest

from tests.support.other_retwises.imported import follows, logs_in, own_posts, posts
from tests.support.other_retwises.php import ArticleRetwis, DjangoRetwis, PhpRetwis, RetwisJs, Retwisn
from tests.support.people import LONG_AGO


@pytest.fixture(params=[PhpRetwis, ArticleRetwis, DjangoRetwis, Retwisn, RetwisJs])
def site(request, source):
    """Alice follows bob. `7` is a name."""
    site = request.param(source.raw)
    for name in ("Alice", "bob", "7"):
        site.register(name, f"the password of {name}")
    site.follow(1, 2)
    site.post(2, "one | two | three", LONG_AGO)
    site.post(1, "", LONG_AGO + 1)
    site.post(3, "line\nline", LONG_AGO + 2)
    return site


def test_each_dialect_gives_the_same_site(raw, site, importing):
    importing()
    assert raw.hgetall("users") == {"alice": "1", "bob": "2", "7": "3"}
    assert follows(raw) == {(1, 2): 0}
    assert posts(raw) == {
        1: (2, LONG_AGO, "one | two | three"),
        2: (1, LONG_AGO + 1, ""),
        3: (3, LONG_AGO + 2, "line\nline"),
    }
    assert (own_posts(raw, 1), own_posts(raw, 2), own_posts(raw, 3)) == ([2], [1], [3])
    assert [raw.get(key) for key in ("next_user_id", "next_post_id")] == ["3", "3"]
    assert logs_in("ALICE", "the password of Alice")
    assert logs_in("ALICE", "the password of Alice ")  # the PHP trims a password whenever it is typed


def test_a_person_whose_own_name_is_gone_is_found_by_the_key_of_the_name(raw, site, source, importing):
    source.raw.delete("uid:2:username")
    importing()
    assert raw.hget("user:2", "username") == "bob"
    assert logs_in("bob", "the password of bob")


def test_a_post_of_another_form_is_counted(raw, site, source, importing):
    source.raw.set("post:2", "no bars")
    assert "note: posts that are not author|time|text: 1 (post 2)" in importing()
    assert list(posts(raw)) == [1, 3]


def test_a_post_with_as_many_bars_as_one_of_retwis_js_has_keeps_its_author(raw, source, importing):
    site = PhpRetwis(source.raw)
    site.register("Alice", "a password")
    site.post(1, "1|Alice|1262304000123|text", LONG_AGO)
    importing()
    assert posts(raw) == {1: (1, LONG_AGO, "1|Alice|1262304000123|text")}


def test_a_time_of_too_many_digits_is_none(raw, site, source, importing):
    source.raw.set("post:2", f"1|{'9' * 5000}|Hello")
    source.raw.set("post:3", f"1|{'9' * 16}|Hello")
    assert "note: posts without a time, which get that of the post before: 2 (post 2, post 3)" in importing()
    assert posts(raw)[2] == posts(raw)[3] == (1, LONG_AGO, "Hello")


def test_a_post_whose_author_is_gone_is_counted(raw, site, source, importing):
    source.raw.set("post:9", f"77|{LONG_AGO}|Hello")
    assert "note: posts without a known author: 1 (post 9)" in importing()
    assert 9 not in posts(raw)


def test_a_post_without_a_time_gets_that_of_the_post_before(raw, source, importing):
    site = PhpRetwis(source.raw)
    site.register("Alice", "a password")
    site.post(1, "first", "")
    site.post(1, "second", LONG_AGO)
    site.post(1, "third", "soon")
    printed = importing()
    assert [when for _, when, _ in posts(raw).values()] == [0, LONG_AGO, LONG_AGO]
    assert "note: posts without a time, which get that of the post before: 2 (post 1, post 3)" in printed
