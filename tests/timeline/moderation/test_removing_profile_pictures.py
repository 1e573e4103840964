"""Staff removes a person's picture or header alone, with a line in the log; a killed process changes nothing of it."""

import pytest

from accounts.community.acts import remove_picture
from accounts.media.decoding import Shape
from accounts.media.profiles import Kind, ProfilePictures
from accounts.media.repository import Pictures
from tests.support.delivering import drain_due
from tests.support.pictures import decoded_once, picture_file
from tests.support.stores.seam import killed_before_round_trip

RED = decoded_once(picture_file(), Shape.PROFILE)
WIDE = decoded_once(picture_file("green", (3000, 900)), Shape.HEADER)
PAGE = "/moderation/people/bob/"


@pytest.fixture
def faces(store, raw, alice, bob):
    """bob's picture and header, for longer than a process may take to choose one; alice is a moderator."""
    for kind, one in ((Kind.PICTURE, RED), (Kind.HEADER, WIDE)):
        Pictures(store).add(2, one)
        ProfilePictures(store).choose(2, kind, one.digest)
        raw.delete(f"media_users:{one.digest}")
        raw.zadd(f"media_users:{one.digest}", {f"{kind}:2:1": 1})
    raw.hset("staff", "1", "moderator")
    raw.hset("user:1", "role", "moderator")


def test_staff_removes_the_picture_and_leaves_the_header(faces, browser, member, bob, carol, store, raw):
    page = member.get(PAGE).content.decode()
    assert page.count("Nobody may upload a deleted picture again") == 2
    form = {"act": "remove_picture", "digest": RED.digest, "reason": "", "block": "1"}
    refused = member.post(PAGE, form | {"block": ""})
    assert (refused.status_code, refused.content.decode().count('value="1" checked')) == (422, 1)  # that of the header
    assert member.post(PAGE, {**form, "reason": "Not yours"}).status_code == 302
    assert raw.hmget("user:2", "picture", "header") == [None, WIDE.digest]
    drain_due(store, raw)
    assert not raw.exists(f"media:{RED.digest}")
    assert raw.exists(f"media:{WIDE.digest}")
    assert raw.hexists("blocked_media", RED.digest)
    log = member.get("/moderation/log/").content.decode()
    assert "Profile picture removed" in log
    assert "Not yours" in log
    again = member.post(PAGE, {**form, "reason": "Not yours"})
    assert (again.status_code, "no longer on the profile" in again.content.decode()) == (422, True)
    assert browser(carol).post(PAGE, {**form, "reason": "x"}).status_code == 404


@pytest.mark.parametrize("step", range(1, 9))
def test_killed_anywhere_the_removal_and_its_line_come_together(faces, store, raw, step):
    def remove():
        remove_picture(store, 2, Kind.HEADER, WIDE.digest, 1, "No", blocks=False)

    assert killed_before_round_trip(step, remove) == (step < 8)
    drain_due(store, raw)
    drain_due(store, raw)
    is_there = raw.hexists("user:2", "header")
    assert raw.zcard("acts:2") == (not is_there)
    assert raw.exists(f"media:{WIDE.digest}") == is_there
