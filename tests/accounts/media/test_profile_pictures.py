"""A person has a picture and a header: chosen in a form, shown at once, never shown without a file, and released."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from accounts.media.decoding import Shape
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import PictureGone, Pictures
from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.command_output import complaints, report_of
from tests.support.maintenance.site_files import export, import_
from tests.support.pictures import decoded_once, decoded_picture, picture_file, uploaded
from tests.support.stored_keys import empty, make_due, publish
from tests.support.stores.seam import killed_before_round_trip
from timeline.relations.relations import Follows

RED, BLUE = (decoded_once(picture_file(colour), Shape.PROFILE) for colour in ("red", "blue"))
WIDE = decoded_once(picture_file("green", (3000, 900)), Shape.HEADER)
pytestmark = pytest.mark.usefixtures("quick_decoder")
LONG_AGO = 7200  # seconds: a mark as old as this has come to its commit, or never will


def choose(store, picture=RED, kind=ProfilePicture.PICTURE, uid=1):
    Pictures(store).add(uid, picture)
    ProfilePictures(store).choose(uid, kind, picture.digest)


def age(raw):
    """Let all marks be old, and all jobs due."""
    for key in raw.keys("media_users:*"):
        for member, since in raw.zrange(key, 0, -1, withscores=True):
            kind, uid, number = member.split(":")
            raw.zrem(key, member)
            raw.zadd(key, {f"{kind}:{uid}:{max(int(number) - LONG_AGO, 0)}": since - 25 * 3600})
    make_due(raw)


def test_a_picture_and_a_header_are_cropped_stored_and_shown_at_once(browser, raw, store, alice, bob):
    Follows(store).follow(2, 1)
    pid = publish(raw, store, alice, "hello")
    client, other = browser(alice), browser(bob)
    for who, url in ((client, "/"), (other, "/"), (other, f"/@Alice/{pid}/")):  # cards are kept
        assert "/media/" not in who.get(url).content.decode()
    form = {"name": "", "bio": "", "picture": uploaded("red"), "header": uploaded("green", size=(3000, 900))}
    assert client.post("/settings/", form).status_code == 302
    stored = raw.hmget("user:1", "picture", "header")
    assert stored == [RED.digest, WIDE.digest]
    assert (RED.width, RED.height, *RED.files) == (192, 192, "", "-96", "-48")
    assert (WIDE.width, WIDE.height, *WIDE.files) == (1500, 500, "")
    assert [mark.rpartition(":")[0] for mark in raw.zrange(f"media_users:{RED.digest}", 0, -1)] == ["picture:1"]
    small = f'src="/media/{RED.digest}-48.webp" srcset="/media/{RED.digest}-96.webp 2x, /media/{RED.digest}.webp 3x"'
    card = f'<img class="avatar" {small} width="48" height="48" alt="" loading="lazy">'
    for who, url in ((client, "/"), (other, "/"), (other, f"/@Alice/{pid}/"), (browser(), "/timeline/?of=all")):
        assert card in who.get(url).content.decode(), url
    for size in ("", "-48", "-96"):
        assert browser().get(f"/media/{RED.digest}{size}.webp").status_code == 200
    page = other.get("/@Alice/").content.decode()
    assert f'<img class="header" src="/media/{WIDE.digest}.webp" width="1500" height="500" alt="">' in page
    large = f'src="/media/{RED.digest}-96.webp" srcset="/media/{RED.digest}.webp 2x" width="96" height="96" alt="">'
    assert large in page
    assert f'<meta property="og:image" content="http://testserver/media/{RED.digest}.webp">' in page
    assert f'content="http://testserver/media/{RED.digest}.webp"' in other.get(f"/@Alice/{pid}/").content.decode()
    address = f"http://testserver/media/{RED.digest}-96.webp"
    assert f"<icon>{address}</icon>" in other.get("/@Alice/atom/").content.decode()
    assert f"<image><url>{address}</url><title>" in other.get("/@Alice/rss/").content.decode()
    client.post("/settings/", {"name": "Ann", "bio": ""})  # a form that does not know of pictures
    assert raw.hmget("user:1", "picture", "header") == stored
    client.post("/settings/", {"name": "", "bio": "", "remove_picture": "1", "remove_header": "1"})
    assert raw.hmget("user:1", "picture", "header") == [None, None]
    assert "/media/" not in other.get("/@Alice/").content.decode()


def test_the_first_steps_have_a_picture_and_a_colour(raw, member):
    page = member.get("/first-steps/").content.decode()
    assert 'type="file" name="picture"' in page
    assert 'name="header"' not in page
    member.post("/first-steps/", {"name": "", "bio": "", "picture": uploaded("red")})
    assert raw.hget("user:1", "picture") == RED.digest
    assert f"/media/{RED.digest}-96.webp" in member.get("/first-steps/").content.decode()


def test_a_form_with_errors_keeps_what_was_uploaded_and_a_bad_file_saves_nothing(raw, member, settings):
    answer = member.post("/settings/", {"name": "Ann", "bio": "b" * 161, "picture": uploaded("red")})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert f'name="uploaded_picture" value="{RED.digest}"' in page
    assert f'src="/media/{RED.digest}-96.webp"' in page
    assert raw.hget("user:1", "picture") is None
    member.post("/settings/", {"name": "Ann", "bio": "", "uploaded_picture": RED.digest})
    assert raw.hmget("user:1", "picture", "name") == [RED.digest, "Ann"]
    for named in ("0" * 40, WIDE.digest):  # of nobody, and not one of three sizes
        answer = member.post("/settings/", {"name": "Bea", "bio": "", "uploaded_picture": named})
        assert (answer.status_code, "no longer there" in answer.content.decode()) == (422, True)
    bad = SimpleUploadedFile("x.svg", b"<svg/>", "image/svg+xml")
    answer = member.post("/settings/", {"name": "Bea", "bio": "new", "header": bad})
    assert answer.status_code == 422
    assert "not a picture that the site can read" in answer.content.decode()
    assert 'value="Bea"' in answer.content.decode()
    settings.MEDIA_MEMORY = 1000
    answer = member.post("/settings/", {"name": "Bea", "bio": "", "picture": uploaded("blue")})
    assert (answer.status_code, "no room for more pictures" in answer.content.decode()) == (422, True)
    settings.MEDIA_MEMORY, settings.MEDIA_QUOTA = 10**9, 1000
    answer = member.post("/first-steps/", {"name": "Bea", "bio": "", "picture": uploaded("blue")})
    assert (answer.status_code, "all the room" in answer.content.decode()) == (422, True)
    assert raw.hmget("user:1", "picture", "name") == [RED.digest, "Ann"]
    member.post("/settings/", {"name": "Bea", "bio": ""})  # a full store refuses pictures and nothing else
    assert raw.hget("user:1", "name") == "Bea"


def test_a_replaced_picture_goes_and_one_that_others_show_stays(store, raw, alice, bob):
    choose(store)
    choose(store, uid=2)
    age(raw)
    choose(store, BLUE)
    drain(store, "worker")
    assert [mark.rpartition(":")[0] for mark in raw.zrange(f"media_users:{RED.digest}", 0, -1)] == ["picture:2"]
    assert raw.zrange("media_of:1", 0, -1) == [BLUE.digest]
    ProfilePictures(store).remove(2, ProfilePicture.PICTURE)
    drain(store, "worker")
    assert not raw.keys(f"media*:{RED.digest}*")
    assert raw.hget("user:1", "picture") == BLUE.digest
    age(raw)
    drain(store, "worker")  # the looks after a day
    assert raw.exists(f"media:{BLUE.digest}", f"media:{BLUE.digest}-48") == 2
    assert raw.zcard("outbox") == 0


def test_two_forms_at_once_leave_no_picture_that_nobody_shows(store, raw, alice):
    """The second one has read the field before the first one wrote it."""
    Pictures(store).add(1, RED)
    Pictures(store).add(1, BLUE)
    ProfilePictures(store).choose(1, ProfilePicture.PICTURE, RED.digest)
    raw.hset("user:1", "picture", BLUE.digest)
    raw.zadd(f"media_users:{BLUE.digest}", {"picture:1:1": 1})
    age(raw)
    drain(store, "worker")
    assert sorted(raw.keys("media:*")) == [f"media:{BLUE.digest}{size}" for size in ("", "-48", "-96")]


@pytest.mark.parametrize("step", range(1, 9))
def test_killed_anywhere_no_profile_shows_a_picture_that_is_not_there(store, raw, alice, step):
    choose(store)
    Pictures(store).add(1, BLUE)
    age(raw)
    killed = killed_before_round_trip(
        step, lambda: ProfilePictures(store).choose(1, ProfilePicture.PICTURE, BLUE.digest)
    )
    assert not killed or step < 8
    shown = raw.hget("user:1", "picture")
    assert shown == BLUE.digest or killed
    for _ in range(3):
        assert raw.exists(f"media:{shown}")
        age(raw)
        drain(store, "worker")
    assert {key.partition(":")[2].partition("-")[0] for key in raw.keys("media:*")} == {shown}
    assert raw.zrange("media_of:1", 0, -1) == [shown]
    assert raw.zcard("outbox") == 0


def test_a_picture_that_is_going_is_not_chosen(store, raw, alice):
    Pictures(store).add(1, RED)
    raw.hset(f"media_info:{RED.digest}", "going", "1")
    with pytest.raises(PictureGone):
        ProfilePictures(store).choose(1, ProfilePicture.PICTURE, RED.digest)
    assert raw.hget("user:1", "picture") is None


def test_a_deleted_account_takes_its_picture_with_it(store, raw, alice):
    choose(store)
    AccountDeletion(store).delete(alice.user, alice.secret)
    drain(store, "worker")
    choose(store, BLUE, ProfilePicture.HEADER)  # a form that comes too late
    age(raw)
    drain(store, "worker")
    assert raw.keys("media*") == []
    assert set(raw.hkeys("user:1")) == {"username", "deleted"}


def test_doctor_repairs_marks_and_removes_what_has_no_file(store, raw, alice, capsys):
    choose(store)
    choose(store, WIDE, ProfilePicture.HEADER)
    assert report_of(capsys)[1]["errors"] == []
    raw.delete(f"media_users:{RED.digest}")
    raw.delete(f"media:{WIDE.digest}")
    found = complaints(capsys)
    assert f"user 1 has {RED.digest} as picture" in found
    assert f"user 1 has {WIDE.digest} as header" in found
    call_command("doctor", "--fix", verbosity=0)
    assert raw.hmget("user:1", "picture", "header") == [RED.digest, None]
    assert raw.zrange(f"media_users:{RED.digest}", 0, -1)[0].startswith("picture:1:")
    raw.hset("user:1", "picture", "../x")
    assert "user:1 has '../x' as picture" in complaints(capsys)


def test_a_file_of_the_site_brings_profile_pictures_back(store, raw, alice, tmp_path, capsys):
    choose(store)
    choose(store, WIDE, ProfilePicture.HEADER)
    export(tmp_path / "site.jsonl")
    empty(raw)
    import_(tmp_path / "site.jsonl")
    assert raw.hmget("user:1", "picture", "header") == [RED.digest, WIDE.digest]
    assert raw.zrange(f"media_users:{WIDE.digest}", 0, -1)[0].startswith("header:1:")
    assert store.get_bytes(f"media:{RED.digest}-48") == RED.files["-48"]
    assert report_of(capsys)[1]["errors"] == []
    assert decoded_picture().digest != RED.digest  # the same pixels as a post has them are another picture
