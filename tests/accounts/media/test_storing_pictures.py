"""Pictures in the store: what is written, who pays for it, and what a worker removes. They come with files of a whole
site and with downloads, and `doctor` and `cleanup` look at them."""

import base64
import time

import pytest
from django.core.management import call_command

from accounts.media.decoding import Shape
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import CLASSES, Mark, PictureGone, Pictures, QuotaReached, StoreFull, job_of
from accounts.users.accounts import AccountDeletion
from retwis_site.exceptions import StoreError
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from tests.support.command_output import report_of
from tests.support.pictures import decoded_picture, moving_file, picture_file
from tests.support.stored_keys import empty
from timeline.account_data.download import _lines
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts


@pytest.fixture
def pictures(store):
    return Pictures(store)


def _due(raw, key="outbox"):
    """Let each job be due now."""
    for job in raw.zrange(key, 0, -1):
        raw.zadd(key, {job: 1})


def test_a_picture_is_stored_once_under_the_digest_of_its_pixels(pictures, alice, bob, raw, store):
    red = decoded_picture()
    for person in (alice, bob):
        pictures.add(person.user.uid, red)
    assert store.get_bytes(keys.media(red.digest)) == red.files[""]
    assert store.get_bytes(keys.media(f"{red.digest}-600")) == red.files["-600"]
    info = raw.hgetall(f"media_info:{red.digest}")
    assert (info["width"], info["height"], info["owner"], info["sizes"]) == ("900", "600", "1", "-600")
    assert int(info["bytes"]) == red.size == sum(map(len, red.files.values()))
    assert raw.zrange("media_of:1", 0, -1) == raw.zrange("media_of:2", 0, -1) == [red.digest]
    assert raw.zrange("media_sizes", 0, -1, withscores=True) == [(red.digest, red.size)]
    assert raw.zrange(f"media_users:{red.digest}", 0, -1) == ["upload:1:0", "upload:2:0"]
    assert sorted(raw.zrange("outbox", 0, -1)) == [job_of(red.digest, 1), job_of(red.digest, 2)]
    assert pictures.of_user(1, [red.digest])[red.digest].blurhash
    assert pictures.of_user(1, ["0" * 40]) == {}


def test_an_upload_that_nothing_shows_goes_after_a_day(pictures, alice, raw, store):
    red = decoded_picture()
    pictures.add(1, red)
    drain(store, "worker")
    assert raw.exists(f"media:{red.digest}")  # the job is not due
    _due(raw)
    drain(store, "worker")
    assert raw.exists(f"media:{red.digest}")  # due too early: it waits again
    assert raw.zcard("outbox") == 1
    _due(raw)
    raw.zadd(f"media_users:{red.digest}", {"upload:1:0": 1})
    drain(store, "worker")
    assert list(raw.keys("*media*")) == []
    assert raw.zcard("outbox") == 0


@pytest.mark.parametrize("age", [3600, 25 * 3600], ids=["of today", "of yesterday"])
def test_an_upload_of_what_another_person_shows_goes_after_a_day(pictures, post, bob, raw, store, age):
    red = decoded_picture().digest
    pictures.add(2, decoded_picture())
    raw.zadd(f"media_users:{red}", {"upload:2:0": int(time.time()) - age})
    _due(raw)
    drain(store, "worker")
    left = [red] if age == 3600 else []
    assert raw.zrange("media_of:2", 0, -1) == left
    assert {*raw.zrange(f"media_users:{red}", 0, -1)} == {f"post:1:{post}", *("upload:2:0" for _ in left)}
    assert raw.zscore("media_of:1", red) is not None
    assert raw.exists(f"media:{red}")


def test_a_picture_that_is_going_can_be_neither_posted_nor_uploaded(pictures, alice, raw):
    red = decoded_picture()
    pictures.add(1, red)
    raw.hset(f"media_info:{red.digest}", "going", "1")
    with pytest.raises(PictureGone):
        pictures.add(1, red)
    with pytest.raises(PictureGone):
        pictures.mark(Mark("post", 1, 7), [red.digest])
    assert raw.zrange(f"media_users:{red.digest}", 0, -1) == []


def test_a_picture_of_somebody_else_cannot_be_posted(pictures, alice, bob):
    pictures.add(1, decoded_picture())
    with pytest.raises(PictureGone):
        pictures.mark(Mark("post", 2, 7), [decoded_picture().digest])


def test_a_full_store_and_a_full_account_refuse_pictures(pictures, alice, settings, raw):
    red, blue = decoded_picture(), decoded_picture("blue")
    pictures.add(1, red)
    settings.MEDIA_MEMORY = red.size + 100
    with pytest.raises(StoreFull):
        pictures.add(1, blue)
    pictures.add(1, red)  # it is there already
    settings.MEDIA_MEMORY, settings.MEDIA_QUOTA = 10**9, red.size + 100
    with pytest.raises(QuotaReached):
        pictures.add(1, blue)
    assert not raw.exists(f"media:{blue.digest}")
    assert sorted(set(CLASSES)) == CLASSES


def test_one_look_at_a_picture_that_many_posts_of_a_deleted_account_have_shown(pictures, alice, store, round_trips):
    """Each look reads all marks of the picture, so one for each post would grow with the square of their number."""
    pictures.add(1, decoded_picture())
    media = Media((Picture(decoded_picture().digest),))
    for number in range(6):
        Posts(store).publish(1, NewPost("Look", media=media), f"t{number}")
    AccountDeletion(store).delete(alice.user, alice.secret)
    sent = round_trips(lambda: drain(store, "worker")).commands
    jobs = [command[-1] for command in sent if command[:2] == ("ZADD", "outbox") and "picture:" in command[-1]]
    assert len(jobs) == 2  # the other one is that of the upload, which goes with the account
    assert store.zcard(keys.media_users(decoded_picture().digest)) == 0


def test_a_deleted_account_takes_its_pictures_with_it(pictures, alice, bob, raw, store):
    from accounts.media.upkeep import remove_pictures

    red, blue = decoded_picture(), decoded_picture("blue")
    pictures.add(1, red)
    pictures.add(1, blue)
    pictures.add(2, blue)
    for uid in (1, 2):  # what an app has said of it before its post
        raw.set(f"media_draft:{uid}:{blue.digest}", " Blue")
    list(remove_pictures(store, 1))
    drain(store, "worker")
    assert raw.keys("media_draft:*") == [f"media_draft:2:{blue.digest}"]
    assert not raw.exists(f"media:{red.digest}")
    assert raw.exists(f"media:{blue.digest}")  # it is bob's too
    assert not raw.exists("media_of:1")
    assert raw.zrange(f"media_users:{blue.digest}", 0, -1) == ["upload:2:0"]


# ---- in files, and what `doctor` and `cleanup` find


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


def test_cleanup_forgets_old_uploads_of_what_another_person_shows(pictures, post, bob, carol, raw, capsys):
    """An earlier version left them without a job."""
    red, old = decoded_picture(), {"upload:2:0": int(time.time()) - 25 * 3600}
    pictures.add(2, red)
    pictures.add(3, red)  # of today
    raw.zadd(f"media_users:{red.digest}", old)
    raw.delete("outbox")
    [found] = report_of(capsys)[1]["debris"]
    assert found["check"] == "old uploads of pictures that others show"
    call_command("cleanup", verbosity=0)
    assert (raw.zcard("media_of:2"), raw.zcard("media_of:3")) == (0, 1)
    assert {*raw.zrange(f"media_users:{red.digest}", 0, -1)} == {f"post:1:{post}", "upload:3:0"}
    assert raw.exists(f"media:{red.digest}")


def test_doctor_keeps_what_a_post_shows_and_drops_what_is_not_there(post, raw, capsys):
    red = decoded_picture().digest
    raw.delete(f"media_users:{red}")
    assert len(report_of(capsys, "--fix")[1]["errors"]) == 1
    assert raw.zrange(f"media_users:{red}", 0, -1) == [f"post:1:{post}"]
    raw.delete(f"media:{red}")
    report_of(capsys, "--fix")
    assert raw.hget(f"post:{post}", "media") == ""
    assert report_of(capsys)[1]["errors"] == []


def test_what_a_post_shows_stays_when_only_what_is_known_of_it_is_lost(post, store, raw, capsys):
    """As after a failover of one server of a cluster, which had not got the last writes."""
    red = decoded_picture().digest
    raw.delete(f"media_info:{red}")
    before = {key: raw.dump(key) for key in raw.keys("*") if red in key}
    call_command("cleanup", verbosity=0)
    assert {key: raw.dump(key) for key in raw.keys("*") if red in key} == before
    assert red in raw.hget(f"post:{post}", "media")
    report = report_of(capsys)[1]
    label = "pictures that something shows, of which nothing is known"
    assert ([one["check"] for one in report["errors"]], report["debris"]) == ([label], [])
    Posts(store).delete(1, post)
    drain(store, "worker")
    call_command("cleanup", verbosity=0)
    assert [key for key in raw.keys("media*") if red in key] == []


@pytest.mark.parametrize("kind", ["post", *ProfilePicture])
def test_cleanup_leaves_what_a_post_or_a_profile_shows_when_only_its_marks_are_lost(store, raw, alice, capsys, kind):
    red = decoded_picture().digest
    Pictures(store).add(1, decoded_picture())
    if kind == "post":
        Posts(store).publish(1, NewPost("Look", media=Media((Picture(red),))), "t1")
    else:
        ProfilePictures(store).choose(1, kind, red)
    raw.delete("outbox", f"media_users:{red}")
    before = {key: raw.dump(key) for key in raw.keys("media*")}
    call_command("cleanup", verbosity=0)
    assert {key: raw.dump(key) for key in raw.keys("media*")} == before
    report_of(capsys, "--fix")
    assert report_of(capsys)[1]["errors"] == []
    assert raw.zrange(f"media_users:{red}", 0, -1)


@pytest.mark.parametrize("lost", ["media_sizes", "media_of:1"])
def test_pictures_that_lists_have_lost_are_listed_again(post, raw, capsys, lost):
    red = decoded_picture()
    raw.delete(lost)
    assert report_of(capsys, "--fix")[0] == 0
    assert report_of(capsys)[1]["errors"] == []
    assert raw.zscore(lost, red.digest) == red.size


@pytest.mark.parametrize(
    ("shape", "content"),
    [(Shape.POST, picture_file()), (Shape.POST, moving_file()), (Shape.PROFILE, picture_file("blue"))],
    ids=["a post", "a post that moves", "a profile"],
)
def test_doctor_writes_again_what_is_known_of_a_picture(store, raw, alice, capsys, tmp_path, shape, content):
    picture = Pictures(store).upload(1, content, shape)
    if shape is Shape.POST:
        Posts(store).publish(1, NewPost("Look", media=Media((Picture(picture.digest),))), "t1")
    else:
        ProfilePictures(store).choose(1, ProfilePicture.PICTURE, picture.digest)
    info = f"media_info:{picture.digest}"
    before, kept = raw.hgetall(info), {key: raw.dump(key) for key in raw.keys("media*") if key != info}
    raw.delete(info)
    assert [one["repaired"] for one in report_of(capsys, "--fix")[1]["errors"]] == [1]
    after = raw.hgetall(info)
    exact = ("width", "height", "bytes", "owner", "sizes")  # the rest is read from the stored file, and from its mark
    assert [after[name] for name in exact] == [before[name] for name in exact]
    assert after.keys() == before.keys()
    assert all(after[name] for name in ("look", "blurhash", "since"))
    assert {key: raw.dump(key) for key in raw.keys("media*") if key != info} == kept
    assert report_of(capsys)[1]["errors"] == []
    file = tmp_path / "site.jsonl"
    call_command("export", str(file), verbosity=0)
    empty(raw)
    call_command("import", str(file), verbosity=0)
    assert raw.hgetall(info) == after


def test_doctor_goes_on_where_the_file_of_a_forgotten_picture_is_damaged(store, raw, alice, capsys, caplog):
    red = Pictures(store).upload(1, picture_file(), Shape.POST).digest
    Posts(store).publish(1, NewPost("Look", media=Media((Picture(red),))), "t1")
    raw.delete(f"media_info:{red}")
    raw.set(f"media:{red}", "damaged")
    status, report = report_of(capsys, "--fix")
    assert (status, [(one["found"], one["repaired"]) for one in report["errors"]]) == (1, [(1, 0)])
    assert [one["check"] for one in report_of(capsys)[1]["errors"]] == [
        "pictures that something shows, of which nothing is known"
    ]
    assert f"media:{red} has a bad value, which is skipped: 'a damaged file'" in caplog.text


def test_the_download_has_the_pictures_and_their_descriptions(post, store, alice):
    lines = [line for chunk in _lines(store, alice.user, lambda *names: f"/{names[-1]}") for line in chunk]
    [shown] = [line for line in lines if line["type"] == "post"]
    picture = decoded_picture()
    about = {"width": 900, "height": 600, "alt": "Red", "blurhash": picture.blurhash, "focus": "", "moving": ""}
    assert shown["pictures"] == [{"digest": picture.digest, **about}]
    assert shown["sensitive"] is True
    files = {line["digest"]: base64.b64decode(line["webp"]) for line in lines if line["type"] == "picture"}
    assert files[decoded_picture().digest] == decoded_picture().files[""]


# ---- they are served to everyone and for ever, with nothing that a browser could run


def test_a_picture_is_immutable_and_asks_for_no_session(browser, alice, store, sent):
    red = decoded_picture()
    Pictures(store).add(1, red)
    for name, content in red.files.items():
        sent.round_trips.clear()
        answer = browser(alice).get(f"/media/{red.digest}{name}.webp")
        assert (answer.status_code, answer.content) == (200, content)
        assert [[command[0] for command in trip.commands] for trip in sent.round_trips] == [["GET"]]
    assert answer["Content-Type"] == "image/webp"
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer["ETag"] == f'"{red.digest}-600"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert (answer["Cross-Origin-Resource-Policy"], answer["Access-Control-Allow-Origin"]) == ("cross-origin", "*")
    assert "Vary" not in answer
    assert not answer.cookies
    again = browser().get(f"/media/{red.digest}.webp", headers={"if-none-match": f'"{red.digest}"'})
    assert (again.status_code, again.content, again["Access-Control-Allow-Origin"]) == (304, b"", "*")


def test_what_is_not_there_is_not_found(browser, raw):
    assert browser().get(f"/media/{'0' * 40}.webp").status_code == 404
    assert browser().get("/media/../../etc/passwd.webp").status_code == 404
    assert "frame-ancestors 'none'" in browser().get(f"/media/{'0' * 40}.webp")["Content-Security-Policy"]


def test_a_failure_of_the_store_is_no_missing_picture(browser, raw, monkeypatch):
    def fail(*_):
        raise StoreError("down")

    monkeypatch.setattr(Pictures, "file", fail)
    assert browser().get(f"/media/{'0' * 40}.webp").status_code == 503
