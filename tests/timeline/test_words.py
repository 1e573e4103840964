"""The words of a text: where they begin and end, the form in which they are compared, and their stems."""

import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.texts import hostile_texts
from timeline.language import LONGEST_SEARCHED, asked_terms, folded, same_word, stem_key, stems, words, written_terms
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
        ("ราคา๑๒๐บาท ฿ ១០០៛", "ราคา ๑๒๐ บาท ១០០"),
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
        ("ភាសាខ្មែរ។ ១០០៛ မြန်မာ၊ ၂၀၂၆ စာ။", ["ភាសាខ្មែរ", "မြန်မာ", "စာ"]),
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


def test_the_work_grows_with_the_text_and_not_with_its_square():
    """A text that is seven times as long takes less than thirty times as long, however slow this machine is."""

    def taken(text):
        times = []
        for _ in range(5):
            begin = time.thread_time()
            words(text)
            times.append(time.thread_time() - begin)
        return min(times)

    for unit in [*hostile_texts.PIECES, "a'", "_", "a_", "1.", "日\u0301", "\u0301", "ﷺ", "🇩"]:
        post, long = ((unit * LONGEST_SEARCHED)[:length] for length in (LONGEST_POST, LONGEST_SEARCHED))
        assert taken(long) < 30 * taken(post) + 0.001, unit


# ---- Under which terms a word stands in the index, and when two words are the same.


# Inflections of one word, by language.
INFLECTIONS = {
    "English": "walk walks walked walking|house houses|city cities|love loves loved loving|walker's walker",
    "German": "Haus Häuser Hauses Häusern|gehen gehe|schön schöne schönen schöner|Katze Katzen|Weg Wege",
    "French": "maison maisons|manger mange manges mangé mangée mangées|l'homme homme hommes|d’accord accord",
    "Spanish": "casa casas|hablar hablo hablando hablado|canción canciones|niño niños niña",
    "Italian": "libro libri|parlare parlo parlando parlato|l'arte dell'arte arte",
    "Portuguese": "livro livros|falar falando falado|casa casas",
    "Dutch": "boek boeken|huizen huize",
    "Swedish": "bok boken|flicka flickor flickorna|hund hundar hundarna",
    "Danish": "hund hunde hunden",
    "Norwegian": "jente jenter jentene",
    "Russian": "книга книги книгу книгой|красный красная красные",
    "Arabic": "كتاب الكتاب كتابا|مدرسة المدرسة مدرسه",
    "Greek": "δρόμος δρόμοι δρόμου",
    "Hindi": "लड़का लड़के",
}
GROUPS = [group.split() for groups in INFLECTIONS.values() for group in groups.split("|")]


def only_word(text):
    [word] = words(text)
    return word


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
def test_inflections_of_a_word_share_its_term_and_are_the_same_word(group):
    found = [only_word(text).folded for text in group]
    assert len({stem_key(word) for word in found}) == 1
    assert all(same_word(one, other) for one, other in combinations(found, 2))


def test_nearly_all_words_with_one_stem_in_one_language_share_their_term():
    """Endings after many beginnings: most of these words exist in no language."""
    beginnings = ["walk", "nation", "form", "plant", "program", "park", "student", "model", "paint", "import"]
    endings = [
        "",
        "s",
        "e",
        "es",
        "en",
        "er",
        "ed",
        "ing",
        "ation",
        "ations",
        "al",
        "o",
        "a",
        "as",
        "os",
        "i",
        "ar",
        "ando",
    ]
    made = [beginning + ending for beginning in beginnings for ending in endings]
    pairs = [
        (one, other)
        for one, other in combinations(made, 2)
        if any(left == right for left, right in zip(stems(one), stems(other), strict=True))
    ]
    apart = [pair for pair in pairs if stem_key(pair[0]) != stem_key(pair[1])]
    assert len(pairs) > 500
    assert len(apart) <= len(pairs) * 0.05, apart


@pytest.mark.parametrize(
    ("one", "other"), [("his", "hi"), ("run", "ran"), ("haus", "maus"), ("日本", "日"), ("книга", "kniga")]
)
def test_other_words_are_not_the_same(one, other):
    assert not same_word(one, other)


def test_a_run_stands_under_its_characters_and_pairs_and_is_asked_by_its_pairs():
    assert written_terms(only_word("日本語日本")) == {"日", "本", "語", "日本", "本語", "語日"}
    assert asked_terms(only_word("本語日")) == {"本語", "語日"}
    assert asked_terms(only_word("語")) == {"語"}
    assert asked_terms(only_word("ี")) == written_terms(only_word("ี")) == set()  # a vowel sign alone


@settings(deadline=None)  # the first text of a process takes longer
@given(st.text(alphabet="日本語한국어ニュースสวัดี", min_size=2, max_size=12), st.data())
def test_each_part_of_a_run_is_asked_by_terms_that_the_run_stands_under(run, data):
    written = set().union(*(written_terms(word) for word in words(run)))
    for word in words(run[data.draw(st.integers(0, len(run) - 2)) :]):
        assert asked_terms(word) <= written


@settings(deadline=None)  # the first text of a process takes longer
@given(st.text(min_size=1, max_size=12))
def test_a_word_is_asked_by_terms_that_it_stands_under(text):
    for word in words(text):
        if not word.is_run:
            assert asked_terms(word) == written_terms(word)
            assert same_word(word.folded, word.folded)


def test_threads_get_the_same_stems():
    made = [f"{beginning}{number % 7}{ending}" for number in range(200) for beginning, ending in [("walk", "ing")]]
    expected = [stem_key(word) for word in made]
    stem_key.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stem_key, made * 5)) == expected * 5


def test_a_very_long_word_is_its_own_term():
    word = "ing" * 600
    assert stem_key(word) == word
