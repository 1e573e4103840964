"""The work that a text makes is bounded: in steps for any text, and in time for a page of the worst posts."""

import os
import time
import warnings

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.runs import sampling
from tests.support.stored_keys import publish
from tests.support.texts import hostile_texts
from timeline.posts import html as texts
from timeline.posts.entities import LONGEST_POST
from timeline.timelines.pagination import POSTS_A_PAGE

# Steps are lines of Python and characters that regular expressions look at. The worst known text has some 35 for each
# character: names in Hebrew, whose direction IDNA checks.
STEPS_OF_ANY_TEXT, STEPS_OF_A_CHARACTER = 1000, 40
# The text of the attack of 2026-11, which took 677 ms.
ATTACK = ("1.1|" * 18)[:69] + ".xn--a" * 8 + (".com" * 41)[:162]
ROUNDS = 21
MOST_SLOWER = 2.8  # ordinary pages; 20 ms where one takes 7 ms
# How long the generator searches for the worst posts, instead of TEXTS of them.
SECONDS = float(os.environ.get("WORST_POSTS_SECONDS") or 0)
TEXTS = sampling.shorter(2500, 500)


def within_bounds(text):
    return hostile_texts.steps_of(text) <= STEPS_OF_ANY_TEXT + STEPS_OF_A_CHARACTER * len(text)


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_texts_that_a_generator_finds_take_few_steps(seed):
    found = hostile_texts.worst_texts(hostile_texts.steps_of, hostile_texts.times(150), seed)
    assert len(found) == hostile_texts.KEPT
    assert within_bounds(found[0]), found[0]


def test_a_repeated_piece_takes_few_steps():
    for unit in hostile_texts.PIECES:
        for text in (unit * LONGEST_POST, f"https://{unit * LONGEST_POST}", f"{unit}a.com/" * LONGEST_POST):
            assert within_bounds(text[:LONGEST_POST]), unit


def test_the_text_of_the_attack_takes_few_steps():
    assert len(ATTACK) == LONGEST_POST - 1
    assert within_bounds(ATTACK)


@pytest.mark.parametrize(
    "unit", ["a.com/(", "https://a.com/((", "a.com,", "א.com ", "a.com&", "http://", "@a ", "xn--a."]
)
def test_a_text_of_a_foreign_database_takes_no_more_steps_when_it_is_longer(unit):
    steps = [hostile_texts.steps_of(unit * (length // len(unit))) for length in (1000, 100_000)]
    assert steps[0] == steps[1]


@pytest.mark.parametrize("unit", ["\u0327\u0301", "\u0301", "a", "\U0001f600"])
def test_only_the_beginning_of_a_long_text_is_looked_at_for_its_beginning(unit, monkeypatch):
    looked_at = []
    find = texts._seen_characters
    monkeypatch.setattr(texts, "_seen_characters", lambda text: looked_at.append(len(text)) or find(text))
    for length in (1000, 100_000):
        texts.beginning_of("a" + unit * length, 40)
    assert looked_at == [160, 160]


@pytest.mark.faults
@pytest.mark.parametrize("posts", ["attack", "generated"])
def test_a_page_of_the_worst_posts_is_not_much_slower(raw, store, alice, member, posts):
    """The author's own first page of everyone's posts, in a process that has made none of the cards. Set
    WORST_POSTS_SECONDS to search longer."""
    worst = [ATTACK] * POSTS_A_PAGE
    if posts == "generated":
        until = hostile_texts.for_seconds(SECONDS) if SECONDS else hostile_texts.times(TEXTS)
        worst = hostile_texts.worst_texts(hostile_texts.steps_of, until, seed=int(time.time()))
    ordinary = [hostile_texts.ORDINARY.format(number) for number in range(POSTS_A_PAGE)]
    for text in ordinary:
        publish(raw, store, alice, text)
    taken = {"worst": [], "ordinary": []}
    for _ in range(ROUNDS):
        for name, bodies in (("worst", worst), ("ordinary", ordinary)):
            for pid, text in enumerate(bodies, start=1):
                raw.hset(f"post:{pid}", "body", text)
            Memory.clear_all()
            begin = time.thread_time()
            page = member.get("/timeline/")
            taken[name].append(time.thread_time() - begin)
            assert page.content.count(b'class="body"') == POSTS_A_PAGE
    ordinary_page, worst_page = (min(taken[name]) * 1000 for name in ("ordinary", "worst"))  # noise only adds
    warnings.warn(f"{posts}: {worst_page:.1f} ms instead of {ordinary_page:.1f} ms", stacklevel=1)
    assert worst_page - ordinary_page <= MOST_SLOWER * ordinary_page, worst[0]
