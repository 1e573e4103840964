"""The part of `make bench` for the search: its texts, and how it checks pages of results."""

import pytest

from benchmarks import search, texts
from benchmarks.search import Query
from benchmarks.visitor import Answer, Viewer, WrongAnswer
from timeline.language import stem_key

ALICE = Viewer(1, "user_1", "secret1", "c" * 32)
POSTS = 1000


@pytest.fixture(scope="module")
def known():
    return texts.vocabulary(300)


def test_no_word_is_taken_for_another_one(known):
    found = [*known.drawn, *known.rare]
    assert len(found) == len({stem_key(word) for word in found}) == 300


def test_the_texts_are_always_the_same(known):
    assert list(texts.texts(known, POSTS)) == list(texts.texts(texts.vocabulary(300), POSTS))


def test_a_rare_word_is_in_three_posts_spread_over_all(known):
    said = dict(enumerate(texts.texts(known, POSTS), 1))
    for number, word in enumerate(known.rare):
        found = [pid for pid, body in said.items() if word in body.split()]
        assert found[::-1] == texts.rare_posts(number, POSTS) == [833 + number, 500 + number, 166 + number]


def test_the_most_common_word_is_in_many_posts_and_the_last_in_few(known):
    said = [set(body.split()) for body in texts.texts(known, POSTS)]
    often, seldom = (sum(word in some for some in said) for word in (known.drawn[0], known.drawn[-1]))
    assert often > 500 > 50 > seldom


def test_a_query_for_two_words_expects_the_newest_posts_that_have_both():
    known = texts.Vocabulary(["loha", "fene"], [])
    newest = [(pid, "loha and fene" if pid % 2 else "loha alone") for pid in range(1, 51)]
    (query,) = search._common(known, newest)
    assert (query.path, query.pids) == ("/search/?q=loha+fene", [*range(49, 9, -2)])
    with pytest.raises(RuntimeError):
        search._common(known, newest[:38])


@pytest.mark.parametrize("found", [[7, 9], [9], [9, 7, 5]])
def test_a_page_with_other_posts_or_in_another_order_is_wrong(monkeypatch, found):
    def show(pids):
        page = "".join(f'<a href="/@user_3/{pid}/">now</a><a href="/@user_3/{pid}/like/">like</a>' for pid in pids)
        monkeypatch.setattr(search, "Visitor", lambda port: FakeVisitor(Answer(200, page.encode(), "", 0.001)))

    query = Query(("loha",), [9, 7])
    show([9, 7])
    query.check(8000, ALICE)
    show(found)
    with pytest.raises(WrongAnswer):
        query.check(8000, ALICE)


class FakeVisitor:
    def __init__(self, answer):
        self._answer = answer

    def get(self, visit):
        assert visit.path == "/search/?q=loha"
        return self._answer

    def close(self):
        pass
