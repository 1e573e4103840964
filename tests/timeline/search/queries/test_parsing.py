"""What a typed text asks for. Any text is a query or a BadQuery."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeline.search.queries.parsing import (
    LONGEST_QUERY,
    BadQuery,
    Before,
    ByPerson,
    ByViewer,
    Kind,
    NotBefore,
    OneWord,
    Phrase,
    Problem,
    Query,
    Role,
    WithTag,
    parse,
)


def word(text):
    return OneWord(text, is_run=False)


def phrase(text):
    return Phrase(tuple(map(word, text.split())))


def midnight(*day):
    return int(datetime(*day, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("tea", [word("tea")]),
        ("Green  TEA\ttea", [word("green"), word("tea")]),
        ('"green tea"', [phrase("green tea")]),
        ('"tea"', [phrase("tea")]),
        ("“green tea„", [phrase("green tea")]),
        ('green"tea cup"', [word("green"), phrase("tea cup")]),
        ("e-mail", [phrase("e mail")]),
        ("https://example.org/tea", [phrase("https example org tea")]),
        ("from:ann", [ByPerson(Role.FROM, "ann")]),
        ("FROM:@Ann", [ByPerson(Role.FROM, "Ann")]),
        ("from:me to:ME", [ByViewer(Role.FROM), ByViewer(Role.TO)]),
        ("from:@me", [ByPerson(Role.FROM, "me")]),
        ("to:ann", [ByPerson(Role.TO, "ann")]),
        ("from:", [word("from")]),
        ("#Tea", [WithTag("tea")]),
        ("＃TEA", [WithTag("tea")]),
        ("#tea-cup", [WithTag("tea"), word("cup")]),
        ("#1", [word("1")]),
        ("has:link has:links", [Kind.HAS_LINK]),
        ("is:reply", [Kind.IS_REPLY]),
        ("before:2026-11-01", [Before(midnight(2026, 11, 1))]),
        ("after:2026-11-01", [NotBefore(midnight(2026, 11, 2))]),
        ("note:this", [phrase("note this")]),
        ("@ann", [word("ann")]),
        ("東京", [OneWord("東京", is_run=True)]),
        ("", []),
        ('- -- !!! " "" \'', []),
    ],
)
def test_what_a_text_asks_for(typed, wanted):
    assert parse(typed) == Query(tuple(wanted), ())


@pytest.mark.parametrize(
    ("typed", "unwanted"),
    [
        ("-tea", [word("tea")]),
        ("−tea", [word("tea")]),
        ('-"green tea"', [phrase("green tea")]),
        ("-from:ann", [ByPerson(Role.FROM, "ann")]),
        ("-#tea", [WithTag("tea")]),
        ("-is:reply -has:link", [Kind.IS_REPLY, Kind.HAS_LINK]),
        ("-before:2026-11-01", [Before(midnight(2026, 11, 1))]),
    ],
)
def test_a_minus_excludes(typed, unwanted):
    assert parse(f"cup {typed}") == Query((word("cup"),), tuple(unwanted))


def test_a_minus_within_a_word_excludes_nothing():
    assert parse("well-known").unwanted == ()


def test_a_phrase_that_does_not_end_goes_on_to_the_end():
    assert parse('cup "green tea from:ann') == Query((word("cup"), phrase("green tea from ann")), ())


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("before:yesterday", Problem.BAD_DATE),
        ("after:2026-02-30", Problem.BAD_DATE),
        ("after:2026-1-1", Problem.BAD_DATE),
        ("after:0000-01-01", Problem.BAD_DATE),
        ("before:२०२६-११-०१", Problem.BAD_DATE),
        ("has:cheese", Problem.BAD_HAS),
        ("is:nice", Problem.BAD_IS),
        ("x" * (LONGEST_QUERY + 1), Problem.TOO_LONG),
    ],
)
def test_what_cannot_be_understood_is_named(typed, problem):
    with pytest.raises(BadQuery) as error:
        parse(typed)
    assert error.value.problem is problem


PIECES = st.sampled_from(
    [
        '"',
        "-",
        "from:",
        "to:",
        "has:link",
        "is:",
        "before:2026-11-01",
        "after:",
        "#",
        "@",
        ":",
        " ",
        "\n",
        "\x00",
        "東京",
    ]
)


@settings(deadline=None)  # the patterns for words are made when they are first needed
@given(st.one_of(st.text(max_size=400), st.lists(st.one_of(PIECES, st.text(max_size=8))).map("".join)))
def test_any_text_is_a_query_or_a_bad_query(typed):
    try:
        query = parse(typed)
    except BadQuery:
        return
    assert all(part.words for part in query.parts if isinstance(part, Phrase))
    assert all(part.name and "\n" not in part.name for part in query.parts if isinstance(part, ByPerson))


@pytest.mark.parametrize(
    "unit", ['"', "-", "a ", '-"', "#", "from:", "\x00", "\u202e", "\u0301", "ß", "東", "🏽", "#a"]
)
def test_hostile_texts_are_queries_or_too_long(unit):
    assert isinstance(parse((unit * LONGEST_QUERY)[:LONGEST_QUERY].strip()), Query)
    with pytest.raises(BadQuery):
        parse(unit * 5000)
