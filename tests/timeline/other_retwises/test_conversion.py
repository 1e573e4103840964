"""Records become lines in chunks: however many posts there are, a chunk of them is in memory. Moments as other
Retwises wrote them."""

import gc
import tracemalloc
import weakref
from itertools import groupby

import pytest

from retwis_site.rendering.dates import seconds_of, unix_seconds
from tests.support.other_retwises.php import PhpRetwis
from tests.support.people import LONG_AGO
from timeline.other_retwises.conversion import Conversion, Person, Renamed, renamed
from timeline.other_retwises.layouts import LAYOUTS
from timeline.other_retwises.source import AT_ONCE, Account, ForeignEdge, Problems, SourcePost, connect_to
from timeline.other_retwises.values import clear_text, encode_all, encode_none

MANY = 15_000  # posts
MOST_MEMORY = 4_000_000  # bytes; 15,000 posts take more than 6 million


class ManyPosts(list):
    """A chunk of posts that can be counted while it lives."""


class Reader:
    """A person, and many posts."""

    def __init__(self):
        self.living = weakref.WeakSet()
        self.most = 0

    def accounts(self):
        yield [Account(1, "Alice", clear_text("a password")), Account(2, "bob")]

    def follows(self, uids):
        for _ in range(AT_ONCE + 1):
            yield ForeignEdge(1, 2, LONG_AGO)

    def posts(self):
        for start in range(1, MANY, AT_ONCE):
            chunk = ManyPosts(SourcePost(pid, 1, LONG_AGO, "x" * 280) for pid in range(start, start + AT_ONCE))
            self.living.add(chunk)
            self.most = max(self.most, len(self.living))
            yield chunk
            del chunk

    def likes(self, uids):
        return iter(())


ManyPosts.__hash__ = object.__hash__


def test_lines_come_in_order_and_in_chunks_of_at_most_500():
    reader = Reader()
    kinds = []
    for lines in Conversion(reader, Problems(), encode_none):
        assert len(lines) <= AT_ONCE
        kinds += [line["type"] for line in lines]
    assert [(kind, len(list(same))) for kind, same in groupby(kinds)] == [
        ("user", 2),
        ("follow", AT_ONCE + 1),
        ("post", MANY),
    ]
    assert reader.most <= 2


def test_single_follows_are_written_together():
    sizes = [len(lines) for lines in Conversion(Reader(), Problems(), encode_none) if lines]
    assert sizes[1:3] == [AT_ONCE, 1]


@pytest.mark.real_server
def test_many_posts_take_the_memory_of_a_chunk(source):
    site = PhpRetwis(source.raw)
    site.register("Alice", "a password")
    for start in range(1, MANY, 5000):
        source.raw.mset({f"post:{pid}": f"1|{LONG_AGO}|{'x' * 280}{pid}" for pid in range(start, start + 5000)})
    other = connect_to([source.url])
    problems = other.problems
    reader = LAYOUTS["php"](other)
    gc.collect()
    tracemalloc.start()
    try:
        posts = sum(line["type"] == "post" for lines in Conversion(reader, problems, encode_none) for line in lines)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert posts == MANY
    assert most < MOST_MEMORY


def test_clear_passwords_are_hashed_and_never_shown():
    [encoded, nothing] = encode_all([clear_text("a password"), None])
    assert encoded.startswith("argon2$")
    assert nothing is None
    assert "a password" not in repr(Account(1, "Alice", clear_text("a password")))


# ---- names


def test_who_registered_first_keeps_the_name():
    people = [Person(1, "AMELIA", LONG_AGO + 5), Person(2, "Amelia", LONG_AGO), Person(3, "amelia", None)]
    assert renamed(people) == [Renamed(1, "AMELIA", "AMELIA_1"), Renamed(3, "amelia", "amelia_3")]


def test_without_dates_the_lowest_id_keeps_the_name():
    people = [Person(9, "Amelia", None), Person(4, "amelia", None)]
    assert renamed(people) == [Renamed(9, "Amelia", "Amelia_9")]


def test_a_new_name_is_cut_and_nobody_elses():
    long = "a" * 40
    people = [Person(1, long, None), Person(2, long.upper(), None), Person(3, f"{'a' * 13}_2", None)]
    assert renamed(people) == [Renamed(2, "A" * 40, f"{'A' * 13}_2_")]


# ---- Moments as other Retwises wrote them.


NOON = 1244890800  # 13 June 2009, 11:00 UTC


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (str(NOON), NOON),
        (f"{NOON}.987", NOON),
        ("1.2448908e9", NOON),
        ("1.2448908E+12", NOON),
        (f"{NOON * 1000 + 999}", NOON),
        ("2009-06-13 12:00:00 +0100", NOON),
        ("2009-06-13 06:00:00 -0500", NOON),
        ("2009-06-13 11:00:00 UTC", NOON),
        ("2009-06-13T11:00:00Z", NOON),
        ("2009-06-13T12:00:00+01:00", NOON),
        ("2009-06-13 11:00:00", NOON),
        ("Sat Jun 13 12:00:00 +0100 2009", NOON),
        ("Sat Jun 13 11:00:00 UTC 2009", NOON),
        (" Sat Jun  6 11:00:00 UTC 2009\n", NOON - 7 * 86400),
        ("0", 0),
    ],
)
def test_each_form_is_read(text, seconds):
    assert unix_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", [None, "", "soon", "-5", "Sat Xyz 13 11:00:00 UTC 2009", "2009-13-45", "1" * 40, "9" * 16, "1e99", "٣"]
)
def test_anything_else_is_no_time(text):
    assert unix_seconds(text) is None


@pytest.mark.parametrize("score", [None, float("inf"), float("-inf"), -1.0])
def test_a_score_that_is_no_time(score):
    assert seconds_of(score) is None


def test_scores_have_seconds_or_milliseconds():
    assert seconds_of(NOON + 0.75) == seconds_of(NOON * 1000.0) == NOON
