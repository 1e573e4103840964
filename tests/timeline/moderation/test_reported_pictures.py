"""A report keeps the pictures of a person or a post as they were until it is decided, whatever the member does."""

import json

import pytest

from accounts.media.decoding import Shape
from accounts.media.profiles import Kind, ProfilePictures
from accounts.media.repository import Pictures
from accounts.users.deletion import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.apps import App
from tests.support.delivering import drain_due
from tests.support.maintenance.doctor_report import doctor
from tests.support.maintenance.site_files import empty, export, import_, of_type
from tests.support.pictures import decoded_once, decoded_picture, picture_file
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts

FACE = decoded_once(picture_file("red"), Shape.PROFILE)
WIDE = decoded_once(picture_file("green", (3000, 900)), Shape.HEADER)
OTHER = decoded_once(picture_file("blue"), Shape.PROFILE)
PERSON = {"reason": "spam", "note": ""}


def choose(store, kind, picture):
    Pictures(store).add(2, picture)
    ProfilePictures(store).choose(2, kind, picture.digest)


@pytest.fixture
def people(store, raw, alice, bob, carol):
    """alice is an admin, bob has a picture and a header, carol reports him."""
    raw.hset("staff", "1", "admin")
    raw.hset("user:1", "role", "admin")
    choose(store, Kind.PICTURE, FACE)
    choose(store, Kind.HEADER, WIDE)


def only_report(raw):
    [rid] = raw.zrange("reports", 0, -1)
    return rid


def let_time_pass(raw, store):
    """All marks are old, and all jobs due."""
    for key in raw.keys("media_users:*"):
        for member in raw.zrange(key, 0, -1):
            kind, uid, number = member.split(":")
            raw.zrem(key, member)
            raw.zadd(key, {f"{kind}:{uid}:{1 if kind in list(Kind) else number}": 1})
    for _ in range(2):
        drain_due(store, raw)


def test_staff_sees_what_was_reported_after_the_member_has_changed_it(browser, people, alice, carol, store, raw):
    browser(carol).post("/@bob/report/", PERSON)
    rid = only_report(raw)
    stored = json.loads(raw.hget(f"report:{rid}", "media"))["pictures"]
    assert [one[:3] for one in stored] == [[FACE.digest, 192, 192], [WIDE.digest, 1500, 500]]
    choose(store, Kind.PICTURE, OTHER)
    ProfilePictures(store).remove(2, Kind.HEADER)
    let_time_pass(raw, store)
    assert raw.zrange(f"media_users:{FACE.digest}", 0, -1) == [f"report:2:{rid}"]
    page = browser(alice).get(f"/moderation/reports/{rid}/").content.decode()
    for picture in (FACE, WIDE):
        assert f'src="/media/{picture.digest}.webp"' in page
        assert browser(alice).get(f"/media/{picture.digest}.webp").status_code == 200
    browser(alice).post(f"/moderation/reports/{rid}/", {"action": "dismissed", "reason": "Gone"})
    drain(store, "worker")
    assert {*raw.zrange("media_sizes", 0, -1)} == {OTHER.digest}
    assert "/media/" not in browser(alice).get(f"/moderation/reports/{rid}/").content.decode().partition("<h1>")[2]


def test_what_a_worker_removes_just_now_is_left_out(people, store, raw):
    raw.hset(f"media_info:{FACE.digest}", "going", "1")
    rid = Reports(store).make(3, NewReport(2, None, "spam"))
    assert [one.digest for one in Reports(store).read(rid).about.media.pictures] == [WIDE.digest]
    assert raw.zscore(f"media_users:{FACE.digest}", f"report:2:{rid}") is None


def test_a_person_without_pictures_is_reported_without_any(people, store, raw):
    rid = Reports(store).make(2, NewReport(3, None, "spam"))
    assert raw.hget(f"report:{rid}", "media") is None


def test_an_app_reports_a_person_and_a_post_with_the_pictures(people, carol, store, raw):
    Pictures(store).add(2, decoded_picture())
    pid = Posts(store).publish(2, NewPost("Look", media=Media((Picture(decoded_picture().digest),))), "t").pid
    app = App(carol)
    for sent, digests in (({}, [FACE.digest, WIDE.digest]), ({"status_ids[]": [pid]}, [decoded_picture().digest])):
        made = app.json("POST", "/api/v1/reports", {"account_id": 2, **sent})
        report = Reports(store).read(int(made["id"]))
        assert report.about.media.digests == digests


def test_the_file_of_the_site_has_the_pictures_and_they_stay_there_too(people, store, raw, tmp_path, capsys):
    rid = Reports(store).make(3, NewReport(2, None, "spam"))
    ProfilePictures(store).remove(2, Kind.PICTURE)
    path = tmp_path / "site.jsonl"
    [line] = of_type(export(path), "report")
    assert [one["digest"] for one in line["pictures"]] == [FACE.digest, WIDE.digest]
    empty(raw)
    import_(path)
    let_time_pass(raw, store)
    assert Reports(store).read(rid).about.media.digests == [FACE.digest, WIDE.digest]
    assert [raw.exists(f"media:{one.digest}") for one in (FACE, WIDE)] == [1, 1]
    assert doctor(capsys) == (0, {}, {})


def test_with_the_account_its_reported_pictures_go(people, bob, store, raw):
    Reports(store).make(3, NewReport(2, None, "spam"))
    AccountDeletion(store).delete(bob.user, bob.secret)
    let_time_pass(raw, store)
    assert list(raw.keys("media*")) == []
