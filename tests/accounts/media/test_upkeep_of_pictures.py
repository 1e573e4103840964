"""Pictures in files of a whole site, in downloads, and what `doctor` and `cleanup` find of them."""

import base64

import pytest
from django.core.management import call_command

from accounts.media.repository import Pictures
from tests.support.maintenance.doctor_report import report_of
from tests.support.maintenance.site_files import empty
from tests.support.pictures import decoded_picture
from timeline.account_data.download import _lines
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts


@pytest.fixture
def post(store, alice):
    """alice's post with a red picture; a blue one is uploaded and not posted."""
    for colour in ("red", "blue"):
        Pictures(store).add(1, decoded_picture(colour))
    media = Media((Picture(decoded_picture().digest, alt="Red"),), sensitive=True)
    return Posts(store).publish(1, NewPost("Look", media=media), "t1").pid


def test_a_file_of_the_site_brings_every_picture_back(post, store, raw, tmp_path):
    file, red = tmp_path / "site.jsonl", decoded_picture()
    call_command("export", str(file), verbosity=0)
    before = {key: raw.type(key) for key in raw.keys("media*") if decoded_picture("blue").digest not in key}
    field = raw.hget(f"post:{post}", "media")
    empty(raw)
    call_command("import", str(file), verbosity=0)
    assert {key: raw.type(key) for key in raw.keys("media*")} == before | {"media_of:1": "zset", "media_sizes": "zset"}
    assert store.get_bytes(f"media:{red.digest}") == red.files[""]
    assert store.get_bytes(f"media:{red.digest}-600") == red.files["-600"]
    assert raw.hget(f"post:{post}", "media") == field
    assert raw.zrange(f"media_users:{red.digest}", 0, -1) == [f"post:1:{post}"]
    assert raw.hget(f"media_info:{red.digest}", "width") == "900"


def test_nothing_is_wrong_with_pictures_under_way(post, capsys):
    _, report = report_of(capsys)
    assert (report["errors"], report["debris"]) == ([], [])
    size = decoded_picture().size + decoded_picture("blue").size
    assert report["counts"] | {"pictures": 2, "picture_bytes": size} == report["counts"]


def test_cleanup_removes_what_killed_processes_have_left(post, raw, capsys):
    red, blue = decoded_picture().digest, decoded_picture("blue").digest
    before = {key: raw.dump(key) for key in raw.keys("*") if blue not in key}
    raw.delete("outbox")
    raw.zadd(f"media_users:{blue}", {"upload:1:0": 1, "post:1:9": 1})  # a day ago; never published
    nowhere = "0" * 40
    raw.set(f"media:{nowhere}", "x")
    raw.zadd(f"media_users:{nowhere}", {"post:1:1": 1})
    raw.zadd("media_sizes", {nowhere: 1})
    raw.zadd("media_of:1", {nowhere: 1})
    found = report_of(capsys)[1]["debris"]
    assert {one["check"] for one in found} == {
        "files of pictures that are not known",
        "marks of pictures that are not known",
        "pictures that nothing shows",
        "pictures of users that are not there",
        "sizes of pictures that are not there",
    }
    call_command("cleanup", verbosity=0)
    assert [key for key in raw.keys("media*") if nowhere in key or blue in key] == []
    assert raw.zrange("media_sizes", 0, -1) == raw.zrange("media_of:1", 0, -1) == [red]
    assert {key for key in before if red in key} <= {*raw.keys("*")}


def test_doctor_keeps_what_a_post_shows_and_drops_what_is_not_there(post, raw, capsys):
    red = decoded_picture().digest
    raw.delete(f"media_users:{red}")
    assert len(report_of(capsys, "--fix")[1]["errors"]) == 1
    assert raw.zrange(f"media_users:{red}", 0, -1) == [f"post:1:{post}"]
    raw.delete(f"media:{red}")
    report_of(capsys, "--fix")
    assert raw.hget(f"post:{post}", "media") == ""
    assert report_of(capsys)[1]["errors"] == []


def test_the_download_has_the_pictures_and_their_descriptions(post, store, alice):
    lines = [line for chunk in _lines(store, alice.user, lambda *names: f"/{names[-1]}") for line in chunk]
    [shown] = [line for line in lines if line["type"] == "post"]
    picture = decoded_picture()
    about = {"width": 900, "height": 600, "alt": "Red", "blurhash": picture.blurhash, "focus": "", "moving": ""}
    assert shown["pictures"] == [{"digest": picture.digest, **about}]
    assert shown["sensitive"] is True
    files = {line["digest"]: base64.b64decode(line["webp"]) for line in lines if line["type"] == "picture"}
    assert files[decoded_picture().digest] == decoded_picture().files[""]
