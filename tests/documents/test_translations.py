"""locale/: every text of the site is translated completely into every language, and the compiled files are current."""

import re
from functools import cache
from gettext import GNUTranslations, c2py

import polib
import pytest
from django.conf import settings
from django.utils.translation import to_locale

from accounts.community.views import LONGEST_APPEAL
from accounts.users.names import LONGEST_BIO
from timeline.posts.entities import LONGEST_POST
from timeline.relations.home_tags import MOST_AT_HOME
from timeline.relations.muted_words import LONGEST_MUTED
from timeline.search.query import LONGEST_QUERY
from timeline.tags.tags import MOST_FOLLOWED

FOLDER = settings.BASE_DIR / "locale"
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
NUMBERS = (*range(1000), 1_000_000)  # Spanish has a form for millions
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")
COUNTS = {"%(number)s", "%(number)d", "%(minutes)d", "%(seconds)s", "%(size)s"}
TAG = re.compile(r"<[^>]*>")
LIMITS = {
    "Say why the decision should be changed. Up to {number} characters.": LONGEST_APPEAL,
    "Shown on your profile. Up to {number} characters.": LONGEST_BIO,
    "Up to {number} characters": LONGEST_POST,
    "Whole words; capital letters and accents do not matter. Up to {number} characters.": LONGEST_MUTED,
    "Your search is too long. It may have up to %(longest)s characters.": LONGEST_QUERY,
    "You can follow up to %(number)d tags. Unfollow one first.": MOST_FOLLOWED,
    "Your home page can have up to %(number)d tags. Hide one first.": MOST_AT_HOME,
}

# A heading and its button, and words that English alone tells apart.
ALIKE = {
    frozenset(("Set a new password", "Set new password")),
    frozenset(("Change your password", "Change password")),
    frozenset(("How long", "For how long")),
    frozenset(("Close", "Dismiss")),
}


def catalog(code):
    return polib.pofile(str(FOLDER / to_locale(code) / "LC_MESSAGES/django.po"))


@cache
def forms_of(code):
    """The numbers of NUMBERS that take each plural form."""
    count, rule = re.fullmatch(r"nplurals=(\d+); plural=(.*);", catalog(code).metadata["Plural-Forms"]).groups()
    found = {form: [] for form in range(int(count))}
    form_of = c2py(rule)
    for number in NUMBERS:
        found[form_of(number)].append(number)
    return found


def translations(code):
    """Yields each English text, its translation, and the numbers that it is for if it is a plural form."""
    numbers = forms_of(code)
    for entry in catalog(code):
        if entry.msgid_plural:
            for form, text in entry.msgstr_plural.items():
                yield entry.msgid_plural, text, numbers[form]
        else:
            yield entry.msgid, entry.msgstr, []


def test_every_language_except_english_has_a_catalog():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(map(to_locale, LANGUAGES))


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_text_is_translated_and_none_is_fuzzy(code):
    entries = catalog(code)
    assert len(entries) > 150
    assert [entry.msgid for entry in entries if not entry.translated() or entry.fuzzy or entry.obsolete] == []
    assert [
        entry.msgid for entry in entries if entry.msgid_plural and set(entry.msgstr_plural) != set(forms_of(code))
    ] == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_plural_form_is_used_for_some_number(code):
    """But for one of fractions, as Polish has it."""
    assert len([form for form, numbers in forms_of(code).items() if not numbers]) <= 1


@pytest.mark.parametrize("code", LANGUAGES)
def test_translations_keep_every_placeholder_and_every_tag(code):
    """A plural form for a single number may write the number as a word: `دقيقتين`."""
    for english, text, numbers in translations(code):
        assert sorted(TAG.findall(text)) == sorted(TAG.findall(english)), text
        placeholders, expected = sorted(PLACEHOLDER.findall(text)), sorted(PLACEHOLDER.findall(english))
        named = [placeholder for placeholder in expected if placeholder not in COUNTS]
        assert placeholders == expected or (len(numbers) == 1 and placeholders == named), text


def test_two_english_texts_do_not_say_the_same_thing():
    """What every language translates in the same way says the same. Then one of the texts is enough."""
    of = {}
    for code in LANGUAGES:
        for entry in catalog(code):
            of.setdefault(entry.msgid, []).append(entry.msgstr or tuple(entry.msgstr_plural.values()))
    alike = {}
    for english, texts in of.items():
        alike.setdefault(tuple(texts), set()).add(english)
    assert {frozenset(group) for group in alike.values() if len(group) > 1} == ALIKE


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_text_closes_the_html_attribute_around_it(code):
    for english, text, _ in translations(code):
        assert TAG.sub("", text).count('"') == 0, text
        assert "&" not in text
        assert text.strip() == text
        assert text[-1:].isspace() == english[-1:].isspace()


@pytest.mark.parametrize("code", LANGUAGES)
def test_right_to_left_texts_isolate_names_from_the_words_around_them(code):
    """Names are in `<bdi>` in HTML, and between isolate characters in plain text such as titles."""
    if code not in settings.LANGUAGES_BIDI:
        return
    for _, text, _ in translations(code):
        bare = re.sub(r"<bdi>[@#]?%\(\w+\)s</bdi>|\u2068[@#]?%\(\w+\)s\u2069", "", text)
        assert not re.search(r"%\((?:name|username|first|second|site|site_name)\)s", bare), text


@pytest.mark.parametrize("code", LANGUAGES)
def test_right_to_left_texts_keep_a_sign_beside_its_latin_word(code):
    """A reader would find the colon of a bare `has:` before the word, and the slashes of `https://` too."""
    if code not in settings.LANGUAGES_BIDI:
        return
    for _, text, _ in translations(code):
        bare = re.sub(r"\u2068[^\u2069]*\u2069", "", PLACEHOLDER.sub("", TAG.sub("", text)))
        assert not re.search(r"[A-Za-z][:/#@_]+(?![\w:/#@_])", bare), text


def test_in_arabic_the_noun_after_a_limit_has_the_form_for_it():
    """These texts have no plural forms, since the code fixes their numbers."""
    for english, limit in LIMITS.items():
        text = catalog("ar").find(english).msgstr
        noun = re.search(r"(?:\{\w+\}|%\(\w+\)[sd]) ([^\s.]+)", text)[1]
        assert noun.endswith("ًا") == (11 <= limit % 100 <= 99), text


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_compiled_catalog_equals_its_source(code):
    expected = {}
    for entry in catalog(code):
        context = "" if entry.msgctxt is None else f"{entry.msgctxt}\x04"
        if entry.msgid_plural:
            expected |= {(context + entry.msgid, form): text for form, text in entry.msgstr_plural.items()}
        else:
            expected[context + entry.msgid] = entry.msgstr
    with (FOLDER / to_locale(code) / "LC_MESSAGES/django.mo").open("rb") as file:
        compiled = {key: text for key, text in GNUTranslations(file)._catalog.items() if key}
    assert compiled == expected
