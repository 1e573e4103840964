"""Pictures of apps: uploaded with a description, described anew, and shown with the status that names them."""

import json
import time

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.media.repository import Pictures
from retwis_site.store.rate_limits import Limit
from tests.support.apps import App
from tests.support.pictures import decoded_picture, uploaded
from tests.support.stored_keys import deliver
from tests.support.stored_posts import write_posts, write_tag
from timeline.posts.entities import LONGEST_ALT
from timeline.posts.repository import Posts

DAY = 24 * 3600

pytestmark = pytest.mark.usefixtures("quick_decoder")


def upload(app, address="/api/v2/media", **said):
    return app.client.post(address, {"file": uploaded(), **said})


def test_a_picture_is_uploaded_described_and_posted(store, raw, alice):
    app, red = App(alice), decoded_picture()
    answer = upload(app, description="Something red", focus="-0.5,0.25")
    assert answer.status_code == 200
    attachment = answer.json()
    assert attachment == {
        "id": red.digest,
        "type": "image",
        "url": f"http://testserver/media/{red.digest}.webp",
        "preview_url": f"http://testserver/media/{red.digest}-600.webp",
        "remote_url": None,
        "text_url": None,
        "meta": {
            "original": {"width": 900, "height": 600, "size": "900x600", "aspect": 1.5},
            "small": {"width": 600, "height": 400, "size": "600x400", "aspect": 1.5},
            "focus": {"x": -0.5, "y": 0.25},
        },
        "description": "Something red",
        "blurhash": red.blurhash,
    }
    assert app.json("GET", f"/api/v1/media/{red.digest}") == attachment
    assert app.json("PUT", f"/api/v1/media/{red.digest}", {"description": "Red"})["description"] == "Red"
    assert raw.get(f"media_draft:1:{red.digest}") == "-0.5,0.25 Red"
    sent = {"status": "", "media_ids[]": [red.digest], "sensitive": "true"}
    status = app.json("POST", "/api/v1/statuses", sent)
    assert json.loads(raw.hget("post:1", "media"))["pictures"] == [
        [red.digest, 900, 600, "Red", red.blurhash, "-0.5,0.25"]
    ]
    assert raw.zrange(f"media_users:{red.digest}", 0, -1) == ["post:1:1"]
    assert (status["sensitive"], status["content"]) == (True, "")
    [shown] = status["media_attachments"]
    assert shown == {**attachment, "description": "Red"}
    for timeline in ("timelines/home", "timelines/public?only_media=true", "accounts/1/statuses?only_media=true"):
        assert [one["media_attachments"] for one in app.json("GET", f"/api/v1/{timeline}")] == [[shown]]


def test_a_picture_is_described_in_parts_and_anew_with_each_upload(store, raw, alice):
    app, red = App(alice), decoded_picture().digest
    upload(app, description="Something red")
    moved = app.json("PUT", f"/api/v1/media/{red}", {"focus": "0.5,0"})
    assert (moved["description"], moved["meta"]["focus"]) == ("Something red", {"x": 0.5, "y": 0.0})
    assert app.json("PUT", f"/api/v1/media/{red}") == moved
    assert app.json("PUT", f"/api/v1/media/{red}", {"description": ""})["description"] is None
    upload(app, description="Something red")
    again = upload(app).json()  # the same file, for another status
    assert (again["description"], again["meta"]["focus"]) == (None, {"x": 0.0, "y": 0.0})
    assert raw.get(f"media_draft:1:{red}") == " "
    assert 0 < raw.ttl(f"media_draft:1:{red}") <= 24 * 3600


def test_a_picture_that_a_status_shows_is_described_by_an_edit_of_the_status_alone(store, raw, alice):
    app, red = App(alice), upload(App(alice), description="Rd").json()["id"]
    at = f"/api/v1/statuses/{app.json('POST', '/api/v1/statuses', {'status': 'Look', 'media_ids[]': [red]})['id']}"
    for said in ({"description": "Red"}, {"focus": "0.5,0"}):
        answer = app.ask("PUT", f"/api/v1/media/{red}", said)
        assert (answer.status_code, answer.json()) == (404, {"error": "Record not found"})
    sent = {"media_attributes[][id]": red, "media_attributes[][description]": "Red"}
    assert app.json("PUT", at, sent)["media_attachments"][0]["description"] == "Red"
    upload(app)  # for another status
    assert app.json("PUT", f"/api/v1/media/{red}", {"description": "Ruby"})["description"] == "Ruby"


def test_a_description_that_is_too_long_is_refused_and_never_cut(store, raw, alice):
    app, whole = App(alice), "é" * LONGEST_ALT
    refused = upload(app, description=f"{whole}!")
    assert (refused.status_code, raw.keys("media:*")) == (422, [])
    assert refused.json()["error"].startswith("Validation failed: Description is too long")
    red = upload(app, description=f"{whole}\r\n").json()
    assert red["description"] == whole
    post = app.json("POST", "/api/v1/statuses", {"status": "Look", "media_ids[]": [red["id"]]})["id"]
    waiting = upload(app).json()["id"]
    for at, sent in (
        (f"/api/v1/media/{waiting}", {"description": f"{whole}!"}),
        (
            f"/api/v1/statuses/{post}",
            {"media_attributes[][id]": red["id"], "media_attributes[][description]": f"{whole}!"},
        ),
    ):
        assert app.ask("PUT", at, sent).status_code == 422, at


def test_an_edit_keeps_the_pictures_and_says_so_to_who_sends_others(store, raw, alice):
    app, red = App(alice), upload(App(alice), description="Red").json()["id"]
    at = f"/api/v1/statuses/{app.json('POST', '/api/v1/statuses', {'status': 'Look', 'media_ids[]': [red]})['id']}"
    as_it_is = {"media_ids": [red], "media_attributes": [{"id": red, "description": "Red"}], "sensitive": False}
    for number, sent in enumerate(({}, as_it_is, {"media_attributes": [{"id": red, "focus": "0,0"}]})):
        answer = app.client.put(at, {"status": f"Look {number}", **sent}, content_type="application/json")
        assert (answer.status_code, answer.json()["media_attachments"][0]["description"]) == (200, "Red")
    for sent in (
        {"media_ids": []},
        {"media_ids": ["0" * 40]},
        {"media_attributes": [{"id": "0" * 40, "description": "Blue"}]},
        {"sensitive": True},
    ):
        answer = app.client.put(at, {"status": "Other", **sent}, content_type="application/json")
        assert (answer.status_code, "stay as they are" in answer.json()["error"]) == (422, True), sent
    assert raw.hget("post:1", "body") == "Look 2"
    described = {"status": "Look 3", "media_attributes": [{"id": red, "description": "Blue"}]}
    answer = app.client.put(at, described, content_type="application/json")
    assert (answer.status_code, answer.json()["media_attachments"][0]["description"]) == (200, "Blue")


def test_an_edit_that_sends_no_text_keeps_it(store, raw, alice):
    app, red = App(alice), upload(App(alice), description="Red").json()["id"]
    at = f"/api/v1/statuses/{app.json('POST', '/api/v1/statuses', {'status': 'Look', 'media_ids[]': [red]})['id']}"
    for sent in ({"media_attributes": [{"id": red, "description": "Blue"}]}, {"status": None, "language": "fr"}):
        answer = app.client.put(at, sent, content_type="application/json")
        assert (answer.status_code, answer.json()["content"]) == (200, "<p>Look</p>"), sent
    assert (raw.hget("post:1", "body"), raw.hget("post:1", "language")) == ("Look", "fr")
    assert json.loads(raw.hget("post:1", "media"))["pictures"][0][3] == "Blue"
    raw.hset("post:1", "body", "x" * 300)  # of a foreign database
    answer = app.client.put(at, {"media_attributes": [{"id": red, "description": ""}]}, content_type="application/json")
    assert (answer.status_code, answer.json()["media_attachments"][0]["description"]) == (200, None)
    assert app.json("PUT", at, {"status": ""})["content"] == ""
    assert app.json("PUT", at, {"spoiler_text": "Sea"})["content"] == "<p>Sea</p>"


def test_an_edit_that_sends_no_text_leaves_one_that_comes_meanwhile(store, raw, alice, monkeypatch):
    app, red = App(alice), upload(App(alice), description="Red").json()["id"]
    at = f"/api/v1/statuses/{app.json('POST', '/api/v1/statuses', {'status': 'Look', 'media_ids[]': [red]})['id']}"
    sent = {"media_attributes": [{"id": red, "description": "Blue"}]}
    monkeypatch.setattr(Limit, "count", lambda *_: Posts(store).edit(1, 1, "Look here"))
    answer = app.client.put(at, sent, content_type="application/json").json()
    assert (answer["content"], answer["media_attachments"][0]["description"]) == ("<p>Look here</p>", "Blue")
    assert raw.hget("post:1", "body") == "Look here"


@pytest.mark.parametrize("name", ["media_ids[]", "media_ids"])
def test_a_list_of_an_empty_text_names_no_picture(store, raw, app, name):
    at = f"/api/v1/statuses/{app.json('POST', '/api/v1/statuses', {'status': 'Look', name: ''})['id']}"
    assert app.json("PUT", at, {"status": "Look again", name: ""})["media_attachments"] == []
    assert raw.hget("post:1", "body") == "Look again"


def test_a_status_is_deleted_and_written_anew_with_its_pictures(store, raw, alice, capsys):
    app, red = App(alice), upload(App(alice), description="Red", focus="-0.5,0.25").json()["id"]
    sent = {"status": "Lok", "media_ids[]": [red], "sensitive": "true"}
    first = app.json("POST", "/api/v1/statuses", sent)
    raw.delete(f"media_draft:1:{red}")  # it was posted long ago
    deleted = app.json("DELETE", f"/api/v1/statuses/{first['id']}")
    deliver(capsys)
    assert app.json("GET", f"/api/v1/media/{red}") == deleted["media_attachments"][0] == first["media_attachments"][0]
    assert app.json("PUT", f"/api/v1/media/{red}", {"description": "Red"}) == deleted["media_attachments"][0]
    second = app.json("POST", "/api/v1/statuses", sent | {"status": "Look"})
    assert second["media_attachments"] == first["media_attachments"]
    assert raw.zrange(f"media_users:{red}", 0, -1) == ["post:1:2"]


def test_pictures_of_a_deleted_status_go_after_a_day_or_at_once(store, raw, alice, capsys):
    app = App(alice)
    for said in ({}, {"delete_media": "true"}):
        red = upload(app).json()["id"]
        pid = app.json("POST", "/api/v1/statuses", {"status": "Look", "media_ids[]": [red]})["id"]
        app.json("DELETE", f"/api/v1/statuses/{pid}", said)
        deliver(capsys)
        assert raw.exists(f"media:{red}") == (not said)
        if not said:
            assert time.time() + DAY - 60 < raw.zscore("outbox", f"picture:{red}:1") <= time.time() + DAY
            raw.zadd(f"media_users:{red}", {"upload:1:0": time.time() - DAY})
            raw.zadd("outbox", {f"picture:{red}:1": 1})
            deliver(capsys)
        assert [key for key in raw.keys("media*") if red in key and "draft" not in key] == []


def test_only_posts_with_pictures_are_listed_as_media_and_a_page_is_full_of_them(store, raw, app):
    lists, sent = ("accounts/1/statuses", "timelines/public", "timelines/tag/a"), {"only_media": "true"}
    write_posts(raw, 1, range(1, 30))
    write_tag(raw, "a", range(1, 30))
    for _ in range(2):
        red = upload(app).json()["id"]
        last = int(app.json("POST", "/api/v1/statuses", {"status": "Look: #a", "media_ids[]": [red]})["id"])
        write_posts(raw, 1, range(last + 1, last + 30))
        write_tag(raw, "a", range(last + 1, last + 30))
    for listed in lists:
        for asked, pids in (({}, ["60", "30"]), ({"limit": 1}, ["60"]), ({"min_id": 1, "limit": 1}, ["30"])):
            found = app.json("GET", f"/api/v1/{listed}", {**sent, **asked})
            assert [one["id"] for one in found] == pids, (listed, asked)


def test_what_is_no_picture_of_the_user_is_refused_and_nothing_is_posted(store, raw, alice, bob):
    red = decoded_picture().digest
    Pictures(store).add(1, decoded_picture())
    for app, ids, status in ((App(bob), [red], 422), (App(alice), ["../x"], 422), (App(alice), [red] * 5, 422)):
        answer = app.ask("POST", "/api/v1/statuses", {"status": "Look", "media_ids[]": ids})
        assert answer.status_code == status
        assert answer.json()["error"].startswith("Validation failed: ")
    assert App(bob).ask("GET", f"/api/v1/media/{red}").status_code == 404
    assert upload(App(alice), focus="2,0").status_code == 422
    no_picture = SimpleUploadedFile("photo.png", b"<svg/>", "image/png")
    answer = App(alice).client.post("/api/v1/media/", {"file": no_picture})
    assert (answer.status_code, answer.json()["error"].startswith("Validation failed: ")) == (422, True)
    assert App(alice, "read").client.post("/api/v2/media", {}).status_code == 403
    assert raw.exists("post:1") == 0
