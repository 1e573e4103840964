"""Which texts somebody can see: all of Unicode is asked."""

import unicodedata

import pytest
from django.conf import settings

from retwis_site.http.form_fields import SEEN, is_visible
from tests.support.texts.characters import EVERY
from tests.support.texts.unseen import SEEN_FORMATS, UNSEEN


def test_no_character_that_nobody_sees_makes_a_text_alone_or_with_all_others():
    assert [f"U+{ord(char):04X}" for char in UNSEEN if is_visible(char)] == []
    assert not is_visible("".join(UNSEEN))


def test_every_other_character_makes_a_text_also_among_those():
    unseen = set(UNSEEN)
    seen = [char for char in EVERY if unicodedata.category(char)[0] in "LMNPS" and char not in unseen]
    assert [f"U+{ord(char):04X}" for char in seen if not is_visible(f"\u3164\ufe0f{char}\u200d\U000e0100")] == []


@pytest.mark.parametrize(
    "text",
    [
        "❤\ufe0f",
        "👩\u200d🚀",
        "🏴\U000e0067\U000e0062\U000e007f",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "\u0301",
        "ा",
        "ᅟᅠᆨ",
        ".",
        *sorted(SEEN_FORMATS),
    ],
)
def test_a_text_with_invisible_characters_in_it_is_a_text(text):
    assert is_visible(text)


def test_an_emoji_that_is_newer_than_the_tables_is_seen():
    reserved = "\U0001faff"
    assert unicodedata.category(reserved) == "Cn"
    assert is_visible(reserved)


def test_the_script_counts_the_same_lines():
    script = (settings.FILES_DIR / "retwis_site/static/members.js").read_text()
    assert f"const seen = /{SEEN}/u;" in script
