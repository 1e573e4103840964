"""The picture of a user: small, different for each user, made from the uid alone, and safe in a page."""

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
LARGEST = 350  # bytes; a page may have fifty pictures


def path_attributes(uid):
    """The attributes of each path of a picture, the background first."""
    return [path.attrib for path in ET.fromstring(avatar(uid))]  # noqa: S314  made by this site


@given(uids)
def test_a_picture_is_small_and_has_only_paths_without_addresses_styles_or_text(uid):
    drawn = avatar(uid)
    assert len(drawn.encode()) <= LARGEST
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
def test_three_threads_have_three_colours_and_each_gap_is_just_below_its_thread(uid):
    _, *paths = path_attributes(uid)
    threads = [path for path in paths if "stroke" in path]
    assert len({thread["stroke"] for thread in threads}) == len({thread["d"] for thread in threads}) == 3
    assert {thread["stroke"] for thread in threads} <= set(THREADS)
    for gap, thread in itertools.pairwise(paths):
        assert "stroke" in gap or (gap["d"] == thread["d"] and "stroke" in thread)
    assert "stroke" in paths[0]
    assert len(paths) > 3


@given(uids, uids)
def test_two_uids_share_a_picture_only_when_they_differ_by_a_multiple_of_number(one, other):
    assert (avatar(one) == avatar(other)) == ((one - other) % NUMBER == 0)


@given(uids)
def test_successive_uids_have_different_backgrounds(uid):
    grounds = {path_attributes(number)[0]["fill"] for number in range(uid, uid + len(GROUNDS))}
    assert grounds == set(GROUNDS)


def test_no_two_of_the_first_users_share_a_picture():
    assert len({avatar(uid) for uid in range(1, NUMBER + 1)}) == NUMBER > 70_000


def test_threads_have_enough_contrast_with_every_background():
    assert min(contrast(ground, thread) for ground in GROUNDS for thread in THREADS) >= 4


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
        assert PICTURE.findall(page) == [avatar(uid) for uid in uids_shown], url


@given(uids)
def test_an_exact_picture_is_no_foreign_markup(uid):
    drawn = avatar(uid)
    assert not foreign(f"<p>{drawn}</p>{drawn}")


@pytest.mark.parametrize(
    ("original", "altered"),
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
def test_an_altered_picture_is_foreign_markup(original, altered):
    drawn = avatar(7).replace(original, altered, 1)
    assert drawn != avatar(7)
    assert foreign(drawn)
