"""Pictures and headers of people: a report keeps them as they were until it is decided, and staff removes one alone,
with a line in the log. A killed process changes nothing of it."""

import json
import re
from functools import partial

import pytest

from accounts.community.acts import blocked_as, remove_picture
from accounts.community.log import Act, Log
from accounts.media import repository
from accounts.media.decoding import Shape
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import PictureBlocked, Pictures
from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.apps import App
from tests.support.command_output import doctor
from tests.support.maintenance.site_files import export, import_, of_type
from tests.support.people import register
from tests.support.pictures import decoded_once, decoded_picture, picture_file
from tests.support.protocols.reports import report
from tests.support.stored_keys import drain_due, empty
from tests.support.stores.seam import each_moment, killed_before_round_trip
from timeline.moderation.reports import NewReport, Reason, Reports
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts

RED = decoded_once(picture_file(), Shape.PROFILE)
WIDE = decoded_once(picture_file("green", (3000, 900)), Shape.HEADER)
PAGE = "/moderation/people/bob/"
BY_ALICE = Act(what="", by=1, whom=2, reason="No")


@pytest.fixture
def faces(store, raw, alice, bob):
    show(store, raw)


def show(store, raw):
    """bob's picture and header, for longer than a process may take to choose one; alice is a moderator."""
    for kind, one in ((ProfilePicture.PICTURE, RED), (ProfilePicture.HEADER, WIDE)):
        Pictures(store).add(2, one)
        ProfilePictures(store).choose(2, kind, one.digest)
        raw.delete(f"media_users:{one.digest}")
        raw.zadd(f"media_users:{one.digest}", {f"{kind}:2:1": 1})
    raw.hset("staff", "1", "moderator")
    raw.hset("user:1", "role", "moderator")


def test_staff_removes_the_picture_and_leaves_the_header(faces, browser, member, bob, carol, store, raw):
    assert member.get(PAGE).content.decode().count("Nobody may upload a deleted picture again") == 2
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


def test_the_person_is_told_and_reads_why_and_open_reports_stay(faces, browser, member, bob, carol, store, raw):
    other = report(store, 3, 2)
    member.post(PAGE, {"act": "remove_picture", "digest": RED.digest, "reason": "Not <yours>"})
    drain_due(store, raw)
    [rid] = {*raw.zrange("reports_about:2", 0, -1)} - {str(other.rid)}
    assert raw.zrange("notices:2", 0, -1) == [f"report:{rid}:2"]
    assert [raw.zcard("notices:1"), raw.zcard("notices:3")] == [0, 0]
    page = browser(bob).get("/notifications/").content.decode()
    assert "The moderators have deleted a picture of yours." in page
    assert "Not &lt;yours&gt;" in page
    assert raw.zrange("reports", 0, -1) == [str(other.rid)]
    assert "Something else</a> · Picture deleted" in member.get(PAGE).content.decode()
    assert [act.what for act in Log(store).about(2)] == ["picture:removed"]
    told = App(bob).json("GET", "/api/v1/notifications")
    assert [(one["type"], one["moderation_warning"]["text"]) for one in told] == [("moderation_warning", "Not <yours>")]


def test_a_removal_that_fails_in_the_middle_and_is_sent_again_is_logged_and_told_once(store, raw, browser):
    form = {"act": "remove_header", "digest": WIDE.digest, "reason": "No", "block": "1"}
    for fails in each_moment():
        empty(raw)
        alice, _bob = register(store, "Alice"), register(store, "bob")
        show(store, raw)
        send = partial(browser(alice).post, PAGE, form)
        killed_before_round_trip(fails, send)
        send()
        drain_due(store, raw)
        drain_due(store, raw)
        assert [(act.what, act.also) for act in Log(store).about(2)] == [("header:removed", WIDE.digest)], fails
        assert raw.zcard("notices:2") == 1, fails
        assert [raw.zcard("reports"), raw.hexists("user:2", "header")] == [0, False], fails
        assert raw.hkeys("blocked_media") == [WIDE.digest], fails
    assert fails > 20


def test_a_decided_removal_is_blocked_logged_and_told_also_when_its_owner_is_faster(store, raw):
    for step in each_moment(1):
        empty(raw)
        for name in ("Alice", "bob"):
            register(store, name)
        show(store, raw)
        about = NewReport(2, None, Reason.OTHER)
        delete = partial(Reports(store).delete_picture, about, WIDE.digest, True, 1, "No")
        killed_before_round_trip(step, delete)
        ProfilePictures(store).remove(2, ProfilePicture.HEADER)
        drain_due(store, raw)
        is_told = raw.zcard("notices:2")
        assert [act.what for act in Log(store).about(2)] == ["header:removed"] * is_told, step
        assert raw.hkeys("blocked_media") == [WIDE.digest] * is_told, step
    assert is_told == 1


def way_back(page):
    return re.findall(r'<a href="(/moderation/log/\d+/\w+/)">Allow the picture again', page)


def test_staff_takes_a_block_back_where_the_act_is_listed_and_the_picture_can_be_uploaded_again(
    faces, browser, member, bob, carol, store, raw, monkeypatch
):
    monkeypatch.setattr(repository, "decoded", lambda content, shape: RED)
    member.post(PAGE, {"act": "remove_header", "digest": WIDE.digest, "reason": "Not blocked"})
    member.post(PAGE, {"act": "remove_picture", "digest": RED.digest, "reason": "Not yours", "block": "1"})
    raw.hset("blocked_media", "f" * 40, "0")
    with pytest.raises(PictureBlocked):
        Pictures(store).take(2, b"", Shape.PROFILE)
    [way] = way_back(member.get("/moderation/log/").content.decode())
    assert way_back(member.get(PAGE).content.decode()) == [way]
    page = member.get(way).content.decode()
    assert "Not yours" in page
    assert way_back(page) == []
    assert member.post(way, {"reason": ""}).status_code == 422
    assert [browser(carol).post(way, {"reason": "x"}).status_code, member.get(f"{way[:-2]}0/").status_code] == [404] * 2
    assert member.post(way, {"reason": "A mistake"})["Location"] == "/moderation/log/"
    assert raw.hgetall("blocked_media") == {"f" * 40: "0"}
    Pictures(store).take(2, b"", Shape.PROFILE)
    log = member.get("/moderation/log/").content.decode()
    assert re.search(r"Picture allowed again.*@bob.*by @Alice.*A mistake", log, re.S)
    assert way_back(log) == []
    assert "can already be uploaded again" in member.get(way).content.decode()
    late = member.post(way, {"reason": "Again"})
    assert (late.status_code, "can already be uploaded again" in late.content.decode()) == (422, True)
    assert raw.zcard("acts:2") == 3


def test_nobody_takes_back_a_block_of_a_picture_of_their_own(faces, browser, bob, store, raw):
    remove_picture(store, BY_ALICE, ProfilePicture.PICTURE, RED.digest, blocked_as(store, RED.digest))
    raw.hset("staff", "2", "moderator")
    raw.hset("user:2", "role", "moderator")
    staff = browser(bob)
    [way] = way_back(staff.get("/moderation/log/").content.decode())
    assert "You cannot decide about yourself" in staff.post(way, {"reason": "Mine"}).content.decode()
    assert raw.hexists("blocked_media", RED.digest)


@pytest.mark.parametrize("step", range(1, 8))
def test_killed_anywhere_the_removal_and_its_line_come_together(faces, store, raw, step):
    def remove():
        remove_picture(store, BY_ALICE, ProfilePicture.HEADER, WIDE.digest, "")

    assert killed_before_round_trip(step, remove) == (step < 7)
    drain_due(store, raw)
    drain_due(store, raw)
    is_there = raw.hexists("user:2", "header")
    assert raw.zcard("acts:2") == (not is_there)
    assert raw.exists(f"media:{WIDE.digest}") == is_there


# ---- A report keeps the pictures, whatever the member does.


OTHER = decoded_once(picture_file("blue"), Shape.PROFILE)
PERSON = {"reason": "spam", "note": ""}


def choose(store, kind, picture):
    Pictures(store).add(2, picture)
    ProfilePictures(store).choose(2, kind, picture.digest)


@pytest.fixture
def people(store, admin, bob, carol):
    """alice is an admin, bob has a picture and a header, carol reports him."""
    choose(store, ProfilePicture.PICTURE, RED)
    choose(store, ProfilePicture.HEADER, WIDE)


def let_time_pass(raw, store):
    """All marks are old, and all jobs due."""
    for key in raw.keys("media_users:*"):
        for member in raw.zrange(key, 0, -1):
            kind, uid, number = member.split(":")
            raw.zrem(key, member)
            raw.zadd(key, {f"{kind}:{uid}:{1 if kind in list(ProfilePicture) else number}": 1})
    for _ in range(2):
        drain_due(store, raw)


def test_staff_sees_what_was_reported_after_the_member_has_changed_it(browser, people, alice, carol, store, raw):
    browser(carol).post("/@bob/report/", PERSON)
    [rid] = raw.zrange("reports", 0, -1)
    stored = json.loads(raw.hget(f"report:{rid}", "media"))["pictures"]
    assert [one[:3] for one in stored] == [[RED.digest, 192, 192], [WIDE.digest, 1500, 500]]
    choose(store, ProfilePicture.PICTURE, OTHER)
    ProfilePictures(store).remove(2, ProfilePicture.HEADER)
    let_time_pass(raw, store)
    assert raw.zrange(f"media_users:{RED.digest}", 0, -1) == [f"report:2:{rid}"]
    page = browser(alice).get(f"/moderation/reports/{rid}/").content.decode()
    for picture in (RED, WIDE):
        assert f'src="/media/{picture.digest}.webp"' in page
        assert browser(alice).get(f"/media/{picture.digest}.webp").status_code == 200
    browser(alice).post(f"/moderation/reports/{rid}/", {"action": "dismissed", "reason": "Gone"})
    drain(store, "worker")
    assert {*raw.zrange("media_sizes", 0, -1)} == {OTHER.digest}
    assert "/media/" not in browser(alice).get(f"/moderation/reports/{rid}/").content.decode().partition("<h1>")[2]


def test_what_a_worker_removes_just_now_is_left_out(people, store, raw):
    raw.hset(f"media_info:{RED.digest}", "going", "1")
    rid = Reports(store).make(3, NewReport(2, None, "spam"))
    assert [one.digest for one in Reports(store).read(rid).about.media.pictures] == [WIDE.digest]
    assert raw.zscore(f"media_users:{RED.digest}", f"report:2:{rid}") is None


def test_a_person_without_pictures_is_reported_without_any(people, store, raw):
    rid = Reports(store).make(2, NewReport(3, None, "spam"))
    assert raw.hget(f"report:{rid}", "media") is None


def test_an_app_reports_a_person_and_a_post_with_the_pictures(people, carol, store, raw):
    Pictures(store).add(2, decoded_picture())
    pid = Posts(store).publish(2, NewPost("Look", media=Media((Picture(decoded_picture().digest),))), "t").pid
    app = App(carol)
    for sent, digests in (({}, [RED.digest, WIDE.digest]), ({"status_ids[]": [pid]}, [decoded_picture().digest])):
        made = app.json("POST", "/api/v1/reports", {"account_id": 2, **sent})
        report = Reports(store).read(int(made["id"]))
        assert report.about.media.digests == digests


def test_the_file_of_the_site_has_the_pictures_and_they_stay_there_too(people, store, raw, tmp_path, capsys):
    rid = Reports(store).make(3, NewReport(2, None, "spam"))
    ProfilePictures(store).remove(2, ProfilePicture.PICTURE)
    path = tmp_path / "site.jsonl"
    [line] = of_type(export(path), "report")
    assert [one["digest"] for one in line["pictures"]] == [RED.digest, WIDE.digest]
    empty(raw)
    import_(path)
    let_time_pass(raw, store)
    assert Reports(store).read(rid).about.media.digests == [RED.digest, WIDE.digest]
    assert [raw.exists(f"media:{one.digest}") for one in (RED, WIDE)] == [1, 1]
    assert doctor(capsys) == (0, {}, {})


def test_with_the_account_its_reported_pictures_go(people, bob, store, raw):
    Reports(store).make(3, NewReport(2, None, "spam"))
    AccountDeletion(store).delete(bob.user, bob.secret)
    drain(store, "worker")  # at once, also what was reported in the last hour
    assert list(raw.keys("media*")) == []
