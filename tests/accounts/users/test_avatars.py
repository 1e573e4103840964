"""The picture of a user: small, easy to tell from others, made from the uid and the shown name, and safe in a page."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.users.html import GROUNDS, NUMBER, SHADES, SHAPES, avatar, initials
from tests.support.contrast import contrast
from tests.support.http.answers import foreign
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows

uids = st.integers(1, 2**53)
PICTURE = re.compile(r'<svg class="avatar".*?</svg>')
NAMES = {1: "Alice", 2: "bob"}
LARGEST = 260  # bytes; a page may have fifty pictures


def look(uid):
    """The ground, the shade and the shape of a picture."""
    ground, shade = ET.fromstring(avatar(uid, "x"))[:2]  # noqa: S314  made by this site
    return ground.attrib["fill"], shade.attrib["fill"], shade.attrib["d"]


@given(uids, st.text())
def test_a_picture_is_small_and_has_nothing_of_a_name_but_letters_and_digits(uid, name):
    drawn = avatar(uid, name)
    assert len(drawn.encode()) <= LARGEST
    root = ET.fromstring(drawn)  # noqa: S314
    assert root.attrib == {"class": "avatar", "viewBox": "0 0 8 8", "aria-hidden": "true"}
    ground, shade, text = root
    assert (ground.tag, shade.tag, text.tag) == ("path", "path", "text")
    assert (shade.attrib["fill"] in SHADES, shade.attrib["d"] in SHAPES) == (True, True)
    assert ground.attrib == {"fill": ground.attrib["fill"], "d": "M0 0h8v8H0z"}
    assert ground.attrib["fill"] in GROUNDS
    assert text.attrib == {"x": "4", "y": "4"}
    assert (text.text or "") == initials(name)
    assert re.fullmatch(r"[^\W_]{0,2}", initials(name))


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("bob", "B"),
        ("kofi_bakes", "KB"),
        ("Anna Maria van Dijk", "AD"),
        ("DanielJCosta", "DC"),
        ("sleepy_fox70", "SF"),
        ("route 66", "R6"),
        ("نور الهدى", "ن"),
        ("山田 太郎", "山"),
        ("Élodie Ürüm", "ÉÜ"),
        ("ßeta", "S"),
        ("🦊 fox", "F"),
        ("🦊", ""),
        ("  _ ", ""),
    ],
)
def test_the_initials_are_those_of_the_first_and_the_last_word(name, letters):
    assert initials(name) == letters


@given(uids, uids)
def test_two_uids_share_a_look_only_when_they_differ_by_a_multiple_of_number(one, other):
    assert (look(one) == look(other)) == ((one - other) % NUMBER == 0)


@given(uids)
def test_successive_uids_have_different_grounds(uid):
    assert {look(number)[0] for number in range(uid, uid + len(GROUNDS))} == set(GROUNDS)


def test_no_two_of_the_first_users_share_a_look():
    assert len({look(uid) for uid in range(1, NUMBER + 1)}) == NUMBER > 1_500


def test_letters_are_legible_and_the_hues_stand_apart_in_both_themes():
    assert min(contrast("#ffffff", colour) for colour in GROUNDS + SHADES) >= 4.5
    assert min(contrast(ground, shade) for ground in GROUNDS for shade in SHADES) >= 2
    assert min(contrast(ground, page) for ground in GROUNDS for page in ("#ffffff", "#161f1b")) >= 3


def test_every_user_on_a_page_has_a_picture(browser, raw, store, alice, bob):
    Follows(store).follow(1, 2)
    pid = publish(raw, store, bob, "hello")
    client = browser(alice)
    shown = {
        "/": [1, 2, 1],
        "/timeline/": [1, 2],
        "/@bob/": [1, 2, 2],
        f"/@bob/{pid}/": [1, 2],
        "/@Alice/following/": [1, 1, 2],
        "/@bob/followers/": [1, 2, 1],
        "/login/": [],
    }
    for url, uids_shown in shown.items():
        page = (browser() if url == "/login/" else client).get(url).content.decode()
        assert PICTURE.findall(page) == [avatar(uid, NAMES[uid]) for uid in uids_shown], url


@given(uids, st.text())
def test_an_exact_picture_is_no_foreign_markup(uid, name):
    drawn = avatar(uid, name)
    assert not foreign(f"<p>{drawn}</p>{drawn}")


@pytest.mark.parametrize(
    ("original", "altered"),
    [
        ("<svg ", '<svg id="x" '),
        ("<svg ", '<svg onload="x" '),
        ('aria-hidden="true"', 'aria-hidden="true" fill="url(https://evil.example)"'),
        ("<path fill", "<script>x</script><path fill"),
        ('<path fill="', '<path fill="#fff" d="M0 0h8v8H0z"/><path fill="'),
        ("</svg>", "<a>x</a></svg>"),
        ("</svg>", "x</svg>"),
        ("</text>", "bcd</text>"),
        ("</text>", "<a>x</a></text>"),
        ('class="avatar"', 'class="icon"'),
    ],
)
def test_an_altered_picture_is_foreign_markup(original, altered):
    drawn = avatar(7, "alice").replace(original, altered, 1)
    assert drawn != avatar(7, "alice")
    assert foreign(drawn)
