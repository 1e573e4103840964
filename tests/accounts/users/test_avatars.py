"""A user's picture: made from the uid alone, always the same, unlike others', small, and nothing but lines of ours."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.users.avatars import GROUNDS, NUMBER, THREADS, avatar
from tests.support.contrast import contrast
from tests.support.http.answers import foreign
from tests.support.stored_keys import publish
from timeline.relations.follow import Follows

uids = st.integers(1, 2**53)
PICTURE = re.compile(r'<svg class="avatar".*?</svg>')
SVG_ATTRIBUTES = {"class": "avatar", "viewBox": "0 0 8 8", "fill": "none", "aria-hidden": "true"}
LONGEST = 350  # bytes; fifty stand in a page


def lines(uid):
    """The picture's paths by their attributes, the ground first."""
    return [path.attrib for path in ET.fromstring(avatar(uid))]  # noqa: S314  it is ours


@given(uids)
def test_a_picture_is_small_well_formed_and_made_of_lines_without_an_address_a_style_or_a_word(uid):
    drawn = avatar(uid)
    assert len(drawn.encode()) <= LONGEST
    root = ET.fromstring(drawn)  # noqa: S314
    assert root.tag == "svg"
    ground = root.attrib.pop("stroke")
    assert ground in GROUNDS
    assert root.attrib == SVG_ATTRIBUTES
    assert "".join(root.itertext()) == ""
    assert root[0].attrib == {"fill": ground, "d": "M0 0h8v8H0z"}
    for path in root:
        assert path.tag == "path"
        assert len(path) == 0
        assert set(path.attrib) <= {"fill", "stroke", "d"}
        assert re.fullmatch(r"[MHchsvz0-8 -]+", path.attrib["d"])


@given(uids)
def test_it_shows_three_threads_of_three_colours_and_a_gap_lies_right_under_its_thread(uid):
    _, *paths = lines(uid)
    threads = [path for path in paths if "stroke" in path]
    assert len({thread["stroke"] for thread in threads}) == len({thread["d"] for thread in threads}) == 3
    assert {thread["stroke"] for thread in threads} <= set(THREADS)
    for gap, thread in itertools.pairwise(paths):
        assert "stroke" in gap or (gap["d"] == thread["d"] and "stroke" in thread)
    assert "stroke" in paths[0]
    assert len(paths) > 3


@given(uids, uids)
def test_one_uid_has_one_picture_and_two_have_two_unless_they_are_far_apart(one, other):
    assert (avatar(one) == avatar(other)) == ((one - other) % NUMBER == 0)


@given(uids)
def test_those_who_register_one_after_the_other_have_other_grounds(uid):
    grounds = {lines(number)[0]["fill"] for number in range(uid, uid + len(GROUNDS))}
    assert grounds == set(GROUNDS)


def test_no_two_of_the_first_users_share_one():
    assert len({avatar(uid) for uid in range(1, NUMBER + 1)}) == NUMBER > 70_000


def test_threads_stand_out_from_every_ground():
    assert min(contrast(ground, thread) for ground in GROUNDS for thread in THREADS) >= 4


def test_everybody_has_their_picture_wherever_they_are_shown(browser, raw, store, alice, bob):
    Follows(store).follow(1, 2)
    pid = publish(raw, store, bob, "hello")
    client = browser(alice)
    shown = {
        "/": [1, 1, 2],
        "/timeline/": [1, 2],
        "/@bob/": [1, 2, 2],
        f"/@bob/{pid}/": [1, 2],
        "/@Alice/following/": [1, 1, 2],
        "/@bob/followers/": [1, 2, 1],
        "/login/": [],
    }
    for url, whose in shown.items():
        page = (browser() if url == "/login/" else client).get(url).content.decode()
        assert PICTURE.findall(page) == [avatar(uid) for uid in whose], url


@given(uids)
def test_what_may_stand_in_a_page_is_the_picture_exactly(uid):
    drawn = avatar(uid)
    assert not foreign(f"<p>{drawn}</p>{drawn}")


@pytest.mark.parametrize(
    ("ours", "altered"),
    [
        ("<svg ", '<svg id="x" '),
        ("<svg ", '<svg onload="x" '),
        ('fill="none"', 'fill="url(https://evil.example)"'),
        ("<path stroke", "<script>x</script><path stroke"),
        ('<path fill="', '<path fill="#fff" d="M0 0h8v8H0z"/><path fill="'),
        ("</svg>", "<a>x</a></svg>"),
        ("</svg>", "x</svg>"),
        ('class="avatar"', 'class="icon"'),
    ],
)
def test_what_is_not_quite_the_picture_is_foreign(ours, altered):
    drawn = avatar(7).replace(ours, altered, 1)
    assert drawn != avatar(7)
    assert foreign(drawn)
