"""What a typed text asks for, between which dates, and whether a post fits. Any text is a query or a BadQuery."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from accounts.users.entities import User
from retwis_site.store.snowflake import SMALLEST, first_of, made_at
from timeline.posts.entities import Links, Post
from timeline.posts.reading.moments import LOOKS
from timeline.search import query as queries
from timeline.search.query import (
    LONGEST_QUERY,
    BadQuery,
    Before,
    ByPerson,
    KnownPeople,
    NotBefore,
    OfKind,
    OneWord,
    Phrase,
    PostRole,
    Problem,
    Query,
    WithTag,
    marks,
    parse,
)
from timeline.search.searching import bounds


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
        ("from:ann", [ByPerson(PostRole.FROM, "ann")]),
        ("FROM:@Ann", [ByPerson(PostRole.FROM, "Ann")]),
        ("from:me to:ME", [ByPerson(PostRole.FROM, None), ByPerson(PostRole.TO, None)]),
        ("from:@me", [ByPerson(PostRole.FROM, "me")]),
        ("to:ann", [ByPerson(PostRole.TO, "ann")]),
        ("from:", [word("from")]),
        ("from:@", [word("from")]),
        ("#Tea", [WithTag("tea")]),
        ("＃TEA", [WithTag("tea")]),
        ("#tea-cup", [WithTag("tea"), word("cup")]),
        ("#don't #Ann’s-cup #_tea_", [WithTag("don"), WithTag("ann"), word("cup"), WithTag("_tea_")]),
        ("#\u0640", [WithTag("\u0640")]),  # a letter that makes words longer, and is none
        ("#1", [word("1")]),
        ("has:link has:links", [OfKind("has:link")]),
        ("is:reply", [OfKind("is:reply")]),
        (
            "İs:reply ıs:reply HAS:LİNK haſ:link",
            [OfKind("is:reply"), OfKind("has:link")],
        ),  # as Turkish keyboards have them
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
        ("-from:ann", [ByPerson(PostRole.FROM, "ann")]),
        ("-#tea", [WithTag("tea")]),
        ("-is:reply -has:link", [OfKind("is:reply"), OfKind("has:link")]),
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
        "İs:",
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
    assert all(name and "\n" not in name for name in query.names)


@pytest.mark.parametrize(
    "unit", ['"', "-", "a ", '-"', "#", "from:", "\x00", "\u202e", "\u0301", "ß", "東", "🏽", "#a"]
)
def test_hostile_texts_are_queries_or_too_long(unit):
    assert isinstance(parse((unit * LONGEST_QUERY)[:LONGEST_QUERY].strip()), Query)
    with pytest.raises(BadQuery):
        parse(unit * 5000)


# ---- Between which ids the posts of a time are.


SINCE = 1_790_000_000  # unix seconds
NUMBER = 10_000  # posts, a minute apart; those of each tenth minute are gone


@pytest.fixture
def posts(raw):
    pipe = raw.pipeline(transaction=False)
    for pid in range(1, NUMBER + 1):
        if pid % 10:
            pipe.hset(f"post:{pid}", "time", pid * 60)
    pipe.execute()


def between(store, *parts, newest=NUMBER, counted=0):
    return bounds(store, Query(parts, ()), 2**53, newest, counted)


@pytest.mark.parametrize("pid", [1, 2, 64, 5000, 5010, 9999, 20_000])
def test_ids_of_a_counter_are_found_by_the_times_of_few_posts(posts, store, round_trips, pid):
    first, after = between(store, Before(pid * 60))
    assert first == 0
    assert min(pid, NUMBER + 1) <= after <= pid + 30
    assert min(pid, NUMBER) - 30 <= between(store, NotBefore(pid * 60)).first <= pid
    recorded = round_trips(lambda: between(store, Before(pid * 60)))
    assert len(recorded.round_trips) <= LOOKS
    assert len(recorded.commands) <= LOOKS * 160


def test_a_post_with_the_date_of_another_time_moves_the_bounds_apart(posts, raw, store):
    raw.hset("post:6006", "time", 1)  # brought back from another site
    raw.hset("post:3003", "time", 10**9)
    assert between(store, Before(5000 * 60)).after >= 5000
    assert between(store, NotBefore(5000 * 60)).first <= 5000


def test_ids_from_the_time_say_it_themselves(raw, store, round_trips):
    moment = 1_793_491_200
    newest = first_of(moment + 10**6)
    recorded = round_trips(lambda: between(store, Before(moment), newest=newest))
    assert len(recorded.round_trips) == 0
    assert between(store, Before(moment), NotBefore(moment - 86_400), newest=newest) == (
        first_of(moment - 86_400),
        first_of(moment),
    )
    assert made_at(first_of(moment)) == moment


def test_before_the_first_id_from_the_time_are_those_of_the_counter(raw, store):
    assert between(store, Before(1_000_000_000), newest=2**50) == (0, SMALLEST)
    assert between(store, NotBefore(1_000_000_000), newest=2**50) == (0, 2**53)


def test_a_site_that_has_changed_to_ids_from_the_time_finds_moments_among_the_older_ids_too(raw, store):
    pipe = raw.pipeline(transaction=False)
    for pid in range(1, NUMBER + 1):
        pipe.hset(f"post:{pid}", "time", SINCE + pid * 60)
    pipe.execute()
    changed = {"newest": first_of(SINCE + 10**6), "counted": NUMBER}
    for pid in (1, 64, 5000, 9999, NUMBER):
        assert pid - 30 <= between(store, NotBefore(SINCE + pid * 60), **changed).first < pid
        assert pid <= between(store, Before(SINCE + pid * 60), **changed).after <= pid + 30
    later = SINCE + NUMBER * 60 + 1
    assert between(store, NotBefore(later), Before(later + 9), **changed) == (first_of(later), first_of(later + 9))
    raw.delete(f"post:{NUMBER}")  # then a post just below it may be as new
    assert NUMBER - 30 <= between(store, NotBefore(later), **changed).first < NUMBER


def test_no_posts_are_all_posts(raw, store):
    assert between(store, Before(1000), newest=0) == (0, 1)


# ---- Whether a post fits a query, and which parts of its text are highlighted.


BOB, CAROL = 2, 3
NOON = 1_793_534_400  # 2026-11-01, 12:00 UTC


def post(text, **fields):
    return Post(7, User(BOB, "bob"), text, NOON, **fields)


def fits(typed, one, me=None):
    return queries.fits(parse(typed), KnownPeople({"bob": BOB, "carol": CAROL}, me), one)


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
        ("မင်္ဂလာပါ။", "မင်္ဂလာပါ"),
        ("๑๒๐", "ราคา๑๒๐บาท"),
        ("#tea", "A cup of #Tea"),
        ("tea", "A cup of #Tea"),
        ("#don't", "#Don’t worry"),
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
