"""locale/: every word of the site is in every language, whole, and what is compiled is what was written."""

import re
from gettext import GNUTranslations, c2py
from pathlib import Path

import polib
import pytest
from django.conf import settings

FOLDER = Path(settings.BASE_DIR) / "locale"
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
NUMBERS = range(1000)
PLACE = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")
TAG = re.compile(r"<[^>]*>")


def catalog(code):
    return polib.pofile(str(FOLDER / code / "LC_MESSAGES/django.po"))


def forms_of(code):
    """For each plural form the numbers that take it, as far as they are looked at."""
    count, rule = re.fullmatch(r"nplurals=(\d+); plural=(.*);", catalog(code).metadata["Plural-Forms"]).groups()
    found = {form: [] for form in range(int(count))}
    for number in NUMBERS:
        found[c2py(rule)(number)].append(number)
    return found


def said(code):
    """Each text with what it says in English and, where it is a plural form, for which numbers."""
    numbers = forms_of(code)
    for entry in catalog(code):
        if entry.msgid_plural:
            for form, text in entry.msgstr_plural.items():
                yield entry.msgid_plural, text, numbers[form]
        else:
            yield entry.msgid, entry.msgstr, []


def test_every_language_but_the_sites_own_has_a_catalog():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(LANGUAGES)


@pytest.mark.parametrize("code", LANGUAGES)
def test_everything_is_translated_and_nothing_is_a_guess(code):
    entries = catalog(code)
    assert len(entries) > 150
    assert [entry.msgid for entry in entries if not entry.translated() or entry.fuzzy or entry.obsolete] == []
    assert [
        entry.msgid for entry in entries if entry.msgid_plural and set(entry.msgstr_plural) != set(forms_of(code))
    ] == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_plural_form_is_taken_by_some_number(code):
    assert all(forms_of(code).values())


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_is_filled_in_and_every_tag_stay_as_they_are(code):
    """A form for one number alone may say it in words: `دقيقتين`."""
    for english, text, numbers in said(code):
        assert sorted(TAG.findall(text)) == sorted(TAG.findall(english)), text
        places, expected = sorted(PLACE.findall(text)), sorted(PLACE.findall(english))
        named = [place for place in expected if place not in {"%(number)s", "%(number)d", "%(minutes)d"}]
        assert places == expected or (len(numbers) == 1 and places == named), text


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_text_ends_the_attribute_that_it_stands_in(code):
    for english, text, _ in said(code):
        assert TAG.sub("", text).count('"') == 0, text
        assert "&" not in text
        assert text.strip() == text
        assert text[-1:].isspace() == english[-1:].isspace()


@pytest.mark.parametrize("code", LANGUAGES)
def test_texts_from_right_to_left_keep_names_apart_from_the_words_around_them(code):
    """`<bdi>` where there is HTML; where there is none, such as in a title, the characters for it."""
    if code not in settings.LANGUAGES_BIDI:
        return
    for _, text, _ in said(code):
        bare = re.sub(r"<bdi>@?%\(\w+\)s</bdi>|\u2068@?%\(\w+\)s\u2069", "", text)
        assert not re.search(r"%\((?:name|username|first|second)\)s", bare), text


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_is_compiled_is_what_was_written(code):
    expected = {}
    for entry in catalog(code):
        context = "" if entry.msgctxt is None else f"{entry.msgctxt}\x04"
        if entry.msgid_plural:
            expected |= {(context + entry.msgid, form): text for form, text in entry.msgstr_plural.items()}
        else:
            expected[context + entry.msgid] = entry.msgstr
    with (FOLDER / code / "LC_MESSAGES/django.mo").open("rb") as file:
        compiled = {key: text for key, text in GNUTranslations(file)._catalog.items() if key}
    assert compiled == expected
