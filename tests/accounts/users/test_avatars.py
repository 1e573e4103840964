"""The picture of a user: small, easy to tell from others, made from the uid and the shown name, and safe in a page. A
person may choose its colour, which is shown at once wherever the picture is."""

import re

import pytest
from django.conf import settings
from django.core.management import call_command
from hypothesis import given, strategies as st

from accounts.settings.views import AUTOMATIC, COLOUR_NAMES
from accounts.users.entities import User
from accounts.users.html import GROUNDS, NUMBER, SHADES, SHAPES, avatar, initials
from retwis_site.store.kinds import COLOURS
from tests.support.command_output import complaints
from tests.support.contrast import contrast
from tests.support.http.answers import foreign
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows

uids = st.integers(1, 2**53)
PICTURE = re.compile(r'<span class="avatar.*?</span>')
NAMES = {1: "Alice", 2: "bob"}
LARGEST = 75  # bytes; a page may have fifty pictures
DRAWN = re.compile(r'<span class="avatar g(\d+) s(\d+) f(\d+)" aria-hidden="true">([^\W_]{0,2})</span>')
CSS = (settings.BASE_DIR / "retwis_site/static/retwis.css").read_text()


def look(uid):
    """The numbers of the ground, the shade and the shape of a picture."""
    return tuple(map(int, DRAWN.fullmatch(avatar(User(uid, "x"))).groups()[:3]))


def drawn_by(rule):
    """The values that the stylesheet has for the numbers from 0 on."""
    found = re.findall(rule, CSS, re.MULTILINE)
    assert [int(number) for number, _ in found] == [*range(len(found))]
    return [value for _, value in found]


GROUND_COLOURS = drawn_by(r"^\.g(\d+) \{ --ground: (#[0-9a-f]{6}); \}$")
SHADE_COLOURS = drawn_by(r"^\.s(\d+) \{ --shade: (#[0-9a-f]{6}); \}$")
DRAWN_SHAPES = drawn_by(r"^\.f(\d+)::before \{ clip-path: (.+); \}$")


def test_the_stylesheet_draws_every_ground_shade_and_shape():
    drawn = [len(set(values)) for values in (GROUND_COLOURS, SHADE_COLOURS, DRAWN_SHAPES)]
    assert drawn == [GROUNDS, SHADES, SHAPES]


@given(uids, st.text())
def test_a_picture_is_small_and_has_nothing_of_a_name_but_letters_and_digits(uid, name):
    drawn = avatar(User(uid, "x", name))
    assert len(re.sub(r">.*<", "><", drawn)) <= LARGEST
    ground, shade, shape, letters = DRAWN.fullmatch(drawn).groups()
    assert (int(ground) < GROUNDS, int(shade) < SHADES, int(shape) < SHAPES) == (True, True, True)
    assert letters == initials(name or "x")
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
    assert {look(number)[0] for number in range(uid, uid + GROUNDS)} == {*range(GROUNDS)}


def test_no_two_of_the_first_users_share_a_look():
    assert len({look(uid) for uid in range(1, NUMBER + 1)}) == NUMBER > 1_500


def test_letters_are_legible_and_the_hues_stand_apart_in_both_themes():
    assert min(contrast("#ffffff", colour) for colour in GROUND_COLOURS + SHADE_COLOURS) >= 4.5
    assert min(contrast(ground, shade) for ground in GROUND_COLOURS for shade in SHADE_COLOURS) >= 2
    assert min(contrast(ground, page) for ground in GROUND_COLOURS for page in ("#ffffff", "#161f1b")) >= 3


def test_every_user_on_a_page_has_a_picture(browser, raw, store, member, bob):
    Follows(store).follow(1, 2)
    pid = publish(raw, store, bob, "hello")
    shown = {
        "/": [1, 2, 1],
        "/timeline/": [1, 2],
        "/@bob/": [1, 2, 2],
        f"/@bob/{pid}/": [1, 2, 2],
        "/@Alice/following/": [1, 1, 2],
        "/@bob/followers/": [1, 2, 1],
        "/login/": [],
    }
    for url, uids_shown in shown.items():
        page = (browser() if url == "/login/" else member).get(url).content.decode()
        assert PICTURE.findall(page) == [avatar(User(uid, NAMES[uid])) for uid in uids_shown], url


@pytest.mark.parametrize(
    ("original", "altered"),
    [
        ("<span ", '<span onload="x" '),
        ('aria-hidden="true"', 'aria-hidden="true" style="background: url(https://evil.example)"'),
        ("</span>", "<script>x</script></span>"),
        ("</span>", "<svg></svg></span>"),
    ],
)
def test_an_altered_picture_is_foreign_markup(original, altered):
    drawn = avatar(User(7, "alice")).replace(original, altered, 1)
    assert drawn != avatar(User(7, "alice"))
    assert foreign(drawn)


# ---- a chosen colour


OF_ALICE = re.compile(r'<span class="avatar g(\d+) s\d+ f\d+" aria-hidden="true">A</span>')


def colours_of_alice(html):
    return {COLOURS[int(ground)] for ground in OF_ALICE.findall(html)}


OWN = colours_of_alice(avatar(User(1, "Alice")))  # which follows from her uid


def test_each_colour_has_a_name_and_a_ground_of_its_own():
    assert [*COLOUR_NAMES] == [AUTOMATIC, *COLOURS]
    for uid in (1, 7, 2**53):
        drawn = [avatar(User(uid, "x", colour=colour)) for colour in COLOURS]
        assert [re.search(r"\bg(\d+)", one)[1] for one in drawn] == [str(ground) for ground in range(12)]
        assert all(ground != shade for ground, shade in (re.search(r"g(\d+) s(\d+)", one).groups() for one in drawn))


def test_a_chosen_colour_is_shown_at_once_wherever_the_picture_is(browser, raw, store, alice, bob):
    Follows(store).follow(2, 1)
    Follows(store).follow(1, 2)
    pid = publish(raw, store, alice, "hello")
    client, other, visitor = browser(alice), browser(bob), browser()
    pages = [
        *((client, url) for url in ("/", f"/@alice/{pid}/", "/@bob/followers/", "/@bob/more/")),
        *((other, url) for url in ("/", "/timeline/?of=all", "/@alice/", "/notifications/", "/@bob/following/")),
        *((visitor, url) for url in ("/timeline/", f"/@alice/{pid}/")),
    ]

    def shown():
        return [colours_of_alice(who.get(url).content.decode()) for who, url in pages]

    assert shown() == [OWN] * len(pages)
    assert f'value="{AUTOMATIC}" checked' in client.get("/settings/").content.decode()
    client.post("/settings/", {"name": "", "bio": "", "colour": "magenta"})
    assert raw.hget("user:1", "colour") == "magenta"
    assert shown() == [{"magenta"}] * len(pages)
    assert 'value="magenta" checked' in client.get("/settings/").content.decode()
    client.post("/settings/", {"name": "Ann", "bio": ""})  # a form that does not know of colours
    assert raw.hget("user:1", "colour") == "magenta"
    client.post("/first-steps/", {"name": "", "bio": "", "colour": "teal"})
    assert raw.hget("user:1", "colour") == "teal"
    client.post("/settings/", {"name": "", "bio": "", "colour": AUTOMATIC})
    assert not raw.hexists("user:1", "colour")
    assert shown() == [OWN] * len(pages)


def test_a_form_with_errors_keeps_the_choice(browser, raw, alice):
    page = browser(alice).post("/settings/", {"name": "", "bio": "b" * 161, "colour": "pink"})
    assert page.status_code == 422
    assert 'value="pink" checked' in page.content.decode()
    assert browser(alice).post("/settings/", {"name": "", "bio": "", "colour": "mauve"}).status_code == 422
    assert not raw.hexists("user:1", "colour")


def test_a_bad_colour_is_skipped_and_named_by_doctor(browser, raw, alice, capsys):
    raw.hset("user:1", "colour", "garbage")
    assert colours_of_alice(browser(alice).get("/").content.decode()) == OWN
    assert "user:1 has 'garbage' as colour" in complaints(capsys)
    call_command("doctor", "--fix", verbosity=0)
    assert not raw.hexists("user:1", "colour")
    assert raw.hgetall("damaged:user:1:values") == {"colour": "garbage"}
