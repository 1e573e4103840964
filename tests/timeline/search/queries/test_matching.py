"""Whether a post fits a query, and which parts of its text are highlighted."""

import pytest

from accounts.users.entities import User
from timeline.posts.entities import Links, Post
from timeline.search.queries.matching import Matching, marks
from timeline.search.queries.parsing import parse

BOB, CAROL = 2, 3
NOON = 1_793_534_400  # 2026-11-01, 12:00 UTC


def post(text, **fields):
    return Post(7, User(BOB, "bob"), text, NOON, **fields)


def fits(typed, one, me=None):
    matching = Matching(parse(typed), {"bob": BOB, "carol": CAROL}, me)
    return matching.visible([one]) == [one]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("tea", "Tea!"),
        ("tea green", "Green tea, black TEA"),
        ("walking", "He walks home"),
        ("Haus", "Zwei Häuser"),
        ("cafe", "Le café"),
        ("don't", "We don’t know"),
        ('"green tea"', "A cup of Green -- TEA."),
        ("e-mail", "Send an e-mail"),
        ("example.org", "See https://example.org/tea"),
        ("京都", "東京都庁"),
        ("東京", "東京都庁"),
        ('"東京 タワー"', "東京 タワーに行く"),
        ("#tea", "A cup of #Tea"),
        ("tea", "A cup of #Tea"),
        ("has:link", "See https://example.org/tea"),
        ("from:bob", "Anything"),
        ("tea -coffee", "Tea"),
        ("tea -from:carol -is:reply -#cup -has:link", "Tea, a cup"),
        ("before:2026-11-02 after:2026-10-31", "Anything"),
    ],
)
def test_a_post_fits(typed, text):
    assert fits(typed, post(text))


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("tea", "Teapot"),
        ("tea cup", "Tea"),
        ('"green tea"', "Tea, green"),
        ('"green tea"', "Green black tea"),
        ('"walking"', "He walks home"),
        ('"green tea"', "evergreen tea"),
        ("東大", "東京大学"),
        ('"京 タワー都"', "東京 タワーに行く"),
        ("#tea", "Tea"),
        ("#tea", "#teapot"),
        ("has:link", "A #tag and @bob"),
        ("from:carol", "Anything"),
        ("is:reply", "Anything"),
        ("tea -coffee", "Tea and coffee"),
        ('tea -"black coffee"', "Tea and black coffee"),
        ("tea -from:bob", "Tea"),
        ("before:2026-11-01", "Anything"),
        ("after:2026-11-01", "Anything"),
    ],
)
def test_a_post_does_not_fit(typed, text):
    assert not fits(typed, post(text))


def test_replies_are_found_by_whom_they_answer():
    reply = post("Yes", links=Links(reply_to=5, root=5, reply_to_user=CAROL))
    assert fits("is:reply to:carol", reply)
    assert fits("to:me", reply, me=CAROL)
    assert not fits("to:bob", reply)
    assert not fits("to:me", reply, me=BOB)
    assert not fits("to:me", post("Yes"))


def test_the_viewers_posts_are_found():
    assert fits("from:me", post("Tea"), me=BOB)
    assert not fits("from:me", post("Tea"), me=CAROL)
    assert not fits("from:me", post("Tea"))


def test_a_repost_fits_nothing():
    assert not fits("from:bob", post("", links=Links(repost_of=5)))


def marked(typed, text):
    parts = []
    for start, end in marks(parse(typed), text):
        assert start < end
        parts.append(text[start:end])
    return parts


@pytest.mark.parametrize(
    ("typed", "text", "parts"),
    [
        ("tea", "Tea and teas, teapot", ["Tea", "teas"]),
        ('"green tea" tea', "Green tea, tea", ["Green tea", "tea"]),
        ('"green tea"', "green, green TEA", ["green TEA"]),
        ('"a b a"', "a b a b a", ["a b a b a"]),
        ("cafe", "Le café", ["café"]),
        ("京", "東京都庁と京都", ["京", "京"]),
        ('"京 タワー"', "東京 タワーに行く", ["京 タワー"]),
        ("ガ", "ｶﾞｶﾞ", ["ｶﾞｶﾞ"]),
        ("#tea", "#Tea and tea", ["#Tea"]),
        ("-tea cup", "cup", ["cup"]),
        ("from:bob has:link", "https://example.org/", []),
    ],
)
def test_what_was_found_is_highlighted(typed, text, parts):
    assert marked(typed, text) == parts
