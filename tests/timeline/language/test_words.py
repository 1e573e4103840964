"""The words of a text: where they begin and end, and the form in which they are compared."""

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.texts import hostile_texts
from timeline.language.words import LONGEST_SEARCHED, folded, words
from timeline.posts.entities import LONGEST_POST

TEXTS = st.lists(
    st.sampled_from(["a", "É", "ß", "İ", "'", "’", "_", ".", "1", ",", " ", "日", "ガ", "ｶﾞ", "한", "ส", "ี", "ि", "क"])
    | st.sampled_from(["\u0301", "\u200d", "\u00ad", "א", "ك", "\u064e", "й", "🎉", "🇩", "🇪", "\U00020000", "𝒜"])
    | st.text(max_size=3),
    max_size=30,
).map("".join)


def folded_words(text):
    return [word.folded for word in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quick (“brown”) fox can’t jump 32.3 feet, right?", "the quick brown fox can't jump 32.3 feet right"),
        ("don't DON’T don‘t", "don't don't don't"),
        ("1,000 or 3.14, 2.", "1,000 or 3.14 2"),
        ("See example.com/a-b: no.Space", "see example com a b no space"),
        ("_so_ snake_case __all__", "so snake_case all"),
        ("Straße STRASSE strasse", "strasse strasse strasse"),
        ("naïve cafe\u0301 Ångström Łódź Øre", "naive cafe angstrom lodz ore"),
        ("İstanbul ISTANBUL ısı", "istanbul istanbul isi"),
        ("ὈΔΌΣ οδός", "οδοσ οδοσ"),
        ("Ёлка Йод йод ї", "елка йод йод і"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ ﬁn", "full width fin"),
        ("كِتَابٌ كتـــاب", "كتاب كتاب"),
        ("שָׁלוֹם שלום", "שלום שלום"),
        ("می\u200cروم", "میروم"),
        ("हिन्दी में", "हिन्दी में"),
        ("co\u00adoperate", "cooperate"),
        ("yes 👍🏽 🇩🇪🇫🇷!", "yes 👍 🇩🇪 🇫🇷"),
        ("", ""),
        ("?!… -- _ ' \u0301", ""),
    ],
)
def test_words_as_they_are_compared(text, expected):
    assert folded_words(text) == [unicodedata.normalize("NFC", word) for word in expected.split()]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("日本語です。", ["日本語です"]),
        ("2026年にRedisを学ぶ", ["年に", "を学ぶ"]),
        ("ニュース ﾆｭｰｽ", ["ニュース", "ニュース"]),
        ("ｶﾞ ガ カ", ["ガ", "ガ", "カ"]),
        ("한국어를 배워요", ["한국어를", "배워요"]),
        ("สวัสดีครับ", ["สวัสดีครับ"]),
        ("ភាសាខ្មែរ ພາສາລາວ မြန်မာ", ["ភាសាខ្មែរ", "ພາສາລາວ", "မြန်မာ"]),
        ("plain", []),
    ],
)
def test_letters_of_scripts_without_spaces_are_runs(text, runs):
    found = [word.folded for word in words(text) if word.is_run]
    assert found == [unicodedata.normalize("NFC", run) for run in runs]


def test_a_word_says_where_it_stands():
    text = "Ein “Häuschen” ist’s"
    assert [text[word.start : word.end] for word in words(text)] == ["Ein", "Häuschen", "ist’s"]


@settings(deadline=None)  # the first text of a process takes longer
@given(TEXTS)
def test_any_text_has_words_that_follow_each_other_and_are_folded(text):
    end = 0
    for word in words(text):
        assert end <= word.start < word.end <= len(text)
        assert word.folded
        assert word.folded == folded(word.folded)
        end = word.end


@settings(deadline=None)  # the first text of a process takes longer
@given(TEXTS)
def test_the_words_of_words_are_the_words(text):
    found = words(text)
    assert words(" ".join(text[word.start : word.end] for word in found)) != [] or not found


@settings(deadline=None)  # the first text of a process takes longer
@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_fast_path_for_ascii_finds_what_the_other_finds(text):
    assert folded_words(f"{text} é")[:-1] == folded_words(text)


def test_only_the_beginning_of_a_long_text_has_words():
    assert len(words("日 " * 100_000)) == LONGEST_SEARCHED // 2


@pytest.mark.parametrize("unit", [*hostile_texts.PIECES, "a'", "_", "a_", "1.", "日\u0301", "\u0301", "ﷺ", "🇩"])
def test_the_work_grows_with_the_text_and_not_with_its_square(unit):
    """A text that is seven times as long takes less than thirty times as long, however slow this machine is."""

    def taken(text):
        times = []
        for _ in range(5):
            begin = time.thread_time()
            words(text)
            times.append(time.thread_time() - begin)
        return min(times)

    post, long = ((unit * LONGEST_SEARCHED)[:length] for length in (LONGEST_POST, LONGEST_SEARCHED))
    assert taken(long) < 30 * taken(post) + 0.001
