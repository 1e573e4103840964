"""Descriptions of pictures: a form reminds of a missing one, a member may require each, and an edit changes them."""

import json

import pytest

from accounts.media.repository import Pictures
from tests.support.apps import App
from tests.support.http.page_text import page_of
from tests.support.pictures import decoded_picture, uploaded
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.forms import new_token
from timeline.posts.repository import Posts

pytestmark = pytest.mark.usefixtures("quick_decoder")
RED = decoded_picture().digest
REMINDER = "Without a description, people who do not see the picture miss what it shows."
REQUIRED = "Describe each picture: your settings require it."


@pytest.fixture
def demanding(store, alice, raw):
    """alice, who requires descriptions, and who has uploaded a picture."""
    raw.hset("user:1", "needs_alt", "1700000000")
    Pictures(store).add(1, decoded_picture())
    return alice


@pytest.fixture
def pid(store, alice):
    """alice's post with a picture that is not described."""
    Pictures(store).add(1, decoded_picture())
    return Posts(store).publish(1, NewPost("Look", media=Media((Picture(RED),))), new_token()).pid


def alts(raw, pid=1):
    return [one[3] for one in json.loads(raw.hget(f"post:{pid}", "media"))["pictures"]]


def test_a_form_with_a_picture_reminds_of_its_description(browser, alice, raw):
    added = browser(alice).post("/post/", {"body": "Look", "picture": uploaded(), "add": "1"}).content.decode()
    assert REMINDER in added
    assert f'aria-describedby="reminder_{RED}"' in added


def test_after_a_post_whose_form_could_not_remind_a_sentence_does(member, raw):
    member.post("/post/", {"body": "Look", "picture": uploaded()})
    assert "A picture has no description." in member.get("/").content.decode()
    member.post("/post/", {"body": "Look again", "media": RED, "alt": ""})
    assert "A picture has no description." not in member.get("/").content.decode()
    assert alts(raw) == [""]


def test_the_setting_is_kept_and_a_form_without_it_changes_nothing(member, raw):
    assert 'value="optional" selected' in member.get("/settings/").content.decode()
    member.post("/settings/", {"name": "", "bio": "", "descriptions": "required"})
    assert int(raw.hget("user:1", "needs_alt")) > 1_700_000_000
    assert 'value="required" selected' in member.get("/settings/").content.decode()
    member.post("/settings/", {"name": "", "bio": ""})
    assert raw.hexists("user:1", "needs_alt")
    assert member.post("/settings/", {"name": "", "bio": "", "descriptions": "x"}).status_code == 422
    member.post("/settings/", {"name": "", "bio": "", "descriptions": "optional"})
    assert not raw.hexists("user:1", "needs_alt")


def test_a_post_without_a_required_description_is_refused_and_keeps_its_pictures(browser, demanding, raw):
    client = browser(demanding)
    form = {"body": "Look", "token": "t1", "picture": [uploaded(), uploaded("blue")], "alt": ["Red", ""]}
    page = page_of(client.post("/post/", form), 422)
    assert REQUIRED in page
    assert page.count('name="media"') == 2
    assert "Red</textarea>" in page
    assert 'name="token" value="t1"' in page
    assert not raw.exists("post:1")
    media = [RED, decoded_picture("blue").digest]
    assert client.post("/post/", {"body": "Look", "media": media, "alt": ["Red", " "]}).status_code == 422
    assert client.post("/post/", {"body": "Look", "media": media, "alt": ["Red", "Blue"]}).status_code == 302
    assert alts(raw) == ["Red", "Blue"]


def test_an_edit_changes_descriptions_and_a_form_without_them_changes_none(browser, alice, pid, raw):
    client, address = browser(alice), f"/@Alice/{pid}/edit/"
    page = client.get(address).content.decode()
    assert REMINDER in page
    assert 'name="remove"' not in page
    form = {"body": "Look", "media": [RED, "0" * 40], "alt": ["Something red", "Of another post"]}
    assert client.post(address, form).status_code == 302
    assert alts(raw) == ["Something red"]
    assert raw.hget("post:1", f"alt:{RED}") == "Something red"
    assert raw.hget("post:1", "edited") is None
    assert 'alt="Something red"' in client.get(f"/@Alice/{pid}/").content.decode()
    client.post(address, {"body": "Look at this"})
    assert (raw.hget("post:1", "body"), alts(raw)) == ("Look at this", ["Something red"])
    client.post(address, {"body": "Look at this", "media": RED, "alt": ""})
    assert alts(raw) == [""]
    assert raw.zcard("outbox") == 0


def test_an_edit_without_a_required_description_is_refused(browser, alice, pid, raw):
    raw.hset("user:1", "needs_alt", "1700000000")
    client, address = browser(alice), f"/@Alice/{pid}/edit/"
    page = page_of(client.post(address, {"body": "Other", "media": RED, "alt": ""}), 422)
    assert REQUIRED in page
    assert "Other</textarea>" in page
    assert raw.hget("post:1", "body") == "Look"
    assert client.post(address, {"body": "Other", "media": RED, "alt": "Red"}).status_code == 302
    assert (raw.hget("post:1", "body"), alts(raw)) == ("Other", ["Red"])


def test_nobody_describes_the_pictures_of_somebody_else(browser, alice, pid, bob, raw):
    assert browser(bob).post(f"/@Alice/{pid}/edit/", {"body": "x", "media": RED, "alt": "x"}).status_code == 403
    assert alts(raw) == [""]


def test_an_app_gets_a_422_for_a_picture_without_a_required_description(demanding, raw):
    app = App(demanding)
    answer = app.ask("POST", "/api/v1/statuses", {"status": "Look", "media_ids[]": [RED]})
    assert (answer.status_code, answer.json()["error"]) == (422, f"Validation failed: {REQUIRED}")
    assert not raw.exists("post:1")
    app.json("PUT", f"/api/v1/media/{RED}", {"description": "Red"})
    status = app.json("POST", "/api/v1/statuses", {"status": "Look", "media_ids[]": [RED]})
    address = f"/api/v1/statuses/{status['id']}"
    bare = {"status": "Look", "media_attributes": [{"id": RED, "description": ""}]}
    answer = app.client.put(address, json.dumps(bare), "application/json")
    assert (answer.status_code, answer.json()["error"]) == (422, f"Validation failed: {REQUIRED}")
    other = {"status": "Look", "media_attributes": [{"id": RED, "description": "Quite red"}]}
    answer = app.client.put(address, json.dumps(other), "application/json")
    assert answer.json()["media_attachments"][0]["description"] == "Quite red"
    assert alts(raw) == ["Quite red"]


def test_a_deleted_post_keeps_no_description(store, browser, alice, pid, raw):
    browser(alice).post(f"/@Alice/{pid}/edit/", {"body": "Look", "media": RED, "alt": "Red"})
    Posts(store).delete(1, pid)
    assert {"media", f"alt:{RED}"}.isdisjoint(raw.hkeys(f"post:{pid}"))


def test_the_download_has_the_setting(browser, demanding):
    account = json.loads(b"".join(browser(demanding).get("/settings/download/").streaming_content).split(b"\n")[1])
    assert account["needs_alt"] == "2023-11-14T22:13:20Z"
