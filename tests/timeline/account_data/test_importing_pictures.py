"""`import_account FILE` brings back the pictures of posts and of the profile, decoded anew, within the quota."""

import json

import pytest
from django.core.management import call_command

from accounts.media.decoding import Shape
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import Pictures
from tests.support.command_output import doctor
from tests.support.people import PASSWORD
from tests.support.pictures import decoded_once, decoded_picture, moving_file, picture_file
from tests.support.stored_keys import drain_due, empty, noted
from tests.support.stores.seam import killed_before_round_trip
from timeline.account_data.download import export
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts

FACE = decoded_once(picture_file("green"), Shape.PROFILE)


pytestmark = pytest.mark.usefixtures("no_waiting", "quick_decoder")


@pytest.fixture
def file(store, alice, raw, tmp_path, typed):
    """alice's download: two posts with pictures, one of them without a text, and a profile picture."""
    for one in map(decoded_picture, ("red", "blue")):
        Pictures(store).add(1, one)
    Pictures(store).add(1, FACE)
    ProfilePictures(store).choose(1, ProfilePicture.PICTURE, FACE.digest)
    red, blue = (Picture(decoded_picture(one).digest, alt=one, focus="0.5,0") for one in ("red", "blue"))
    Posts(store).publish(1, NewPost("Look", media=Media((red, blue), sensitive=True)), "t1")
    Posts(store).publish(1, NewPost("", media=Media((red,))), "t2")
    path = tmp_path / "download.jsonl"
    with export(store, alice.user, lambda view, *args: f"http://testserver/{view}/") as content:
        path.write_bytes(content.read())
    empty(raw)
    typed(f"{PASSWORD}\n")
    return path


def shown(raw, pid):
    media = json.loads(raw.hget(f"post:{pid}", "media"))
    return [(one[3], *one[5:]) for one in media["pictures"]], media.get("sensitive", False)


def a_day_passes(raw, store):
    for key in raw.keys("media_users:*"):
        for member in raw.zrange(key, 0, -1):
            raw.zadd(key, {member: 1})
    drain_due(store, raw)


def test_posts_and_the_profile_have_their_pictures_again(file, raw, store, browser, capsys):
    call_command("import_account", str(file))
    assert "left out" not in capsys.readouterr().out
    first, second = (int(pid) for pid in raw.zrange("updates:1", 0, -1))
    assert shown(raw, first) == ([("red", "0.5,0"), ("blue", "0.5,0")], True)
    assert (shown(raw, second), raw.hget(f"post:{second}", "body")) == (([("red", "0.5,0")], False), "")
    a_day_passes(raw, store)
    assert raw.zcard("media_sizes") == raw.zcard("media_of:1") == 3
    page = browser().get("/@Alice/").content.decode()
    for digest in (raw.hget("user:1", "picture"), *raw.zrange("media_sizes", 0, -1)):
        assert digest in page
        assert raw.exists(f"media:{digest}")
    assert noted(raw) == []
    assert doctor(capsys) == (0, {}, {})


def test_an_animation_moves_again(store, alice, raw, tmp_path, typed):
    """The download had its still picture alone."""
    moving = decoded_once(moving_file(), Shape.POST)
    Pictures(store).add(1, moving)
    Posts(store).publish(1, NewPost("Look", media=Media((Picture(moving.digest, moving="-animated"),))), "t1")
    path = tmp_path / "download.jsonl"
    path.write_bytes(export(store, alice.user, lambda view, *args: "").read())
    empty(raw)
    typed(f"{PASSWORD}\n")
    call_command("import_account", str(path))
    [[digest, *_, moves]] = json.loads(raw.hget("post:1", "media"))["pictures"]
    assert moves == "-animated"
    assert raw.exists(f"media:{digest}-animated")


def test_a_download_without_a_file_that_the_store_has_lost_can_be_imported(store, alice, raw, tmp_path, capsys):
    """It had an empty file, so the import refused all of it."""
    red, blue = map(decoded_picture, ("red", "blue"))
    for one in (red, blue):
        Pictures(store).add(1, one)
    raw.delete(f"media:{blue.digest}")
    path = tmp_path / "download.jsonl"
    path.write_bytes(export(store, alice.user, lambda view, *args: "").read())
    assert [line["digest"] for line in map(json.loads, path.open()) if line["type"] == "picture"] == [red.digest]
    call_command("import_account", str(path), "--into-existing")


def test_a_second_run_changes_nothing(file, raw):
    call_command("import_account", str(file))
    before = {key: raw.dump(key) for key in raw.keys("media*") if not key.startswith("media_users:")}
    call_command("import_account", str(file), "--into-existing")
    assert raw.zcard("updates:1") == 2
    assert {key: raw.dump(key) for key in raw.keys("media*") if not key.startswith("media_users:")} == before


def test_what_is_over_the_quota_damaged_or_not_in_the_file_is_left_out(file, raw, settings, capsys):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    kept = [line for line in lines if line.get("digest") != decoded_picture("blue").digest]
    [red] = [line for line in kept if line.get("digest") == decoded_picture("red").digest]
    red["webp"] = "AAAA"
    kept[-1]["lines"] = len(kept)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    settings.MEDIA_QUOTA = 10
    call_command("import_account", str(file))
    said = capsys.readouterr().out
    assert "3 pictures were left out: they are not in the file, cannot be read, or find no room." in said
    assert "1 posts were left out: they had pictures alone, which were left out." in said
    [pid] = raw.zrange("updates:1", 0, -1)
    assert raw.hmget(f"post:{pid}", "body", "media") == ["Look", None]
    assert raw.hget("user:1", "picture") is None


@pytest.mark.parametrize("step", range(8, 70, 6))
def test_after_a_kill_no_post_shows_a_picture_that_is_not_there(file, raw, store, step, capsys):
    killed_before_round_trip(step, lambda: call_command("import_account", str(file)))
    drain_due(store, raw)
    a_day_passes(raw, store)
    for pid in raw.zrange("updates:1", 0, -1):
        for one in json.loads(raw.hget(f"post:{pid}", "media"))["pictures"]:
            assert raw.exists(f"media:{one[0]}")
