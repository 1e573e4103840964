"""Posts with pictures: written in one step with the text, shown on cards, kept when the form fails, and removed. A form
reminds of a missing description, a member may require each, and an edit changes them."""

import io
import json
import re
import time

import pytest
import redis
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from accounts.media.repository import Pictures
from accounts.media.upkeep import settle_picture
from retwis_site.jobs.worker import drain
from tests.support.apps import App
from tests.support.command_output import finds_and_mends
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from tests.support.pictures import decoded_picture, picture_file, uploaded
from tests.support.protocols.reports import make_moderator, report
from tests.support.stores.seam import broken_store
from timeline.moderation.reports import Action, Reports
from timeline.posts.composer import new_token
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.pictures import describe
from timeline.posts.reading.records import media_from
from timeline.posts.repository import Posts
from timeline.relations.relations import Likes

pytestmark = pytest.mark.usefixtures("quick_decoder")


def hash_of(colour):
    return decoded_picture(colour).blurhash


@pytest.fixture
def red(store, alice):
    """alice's picture."""
    Pictures(store).add(1, decoded_picture())
    return decoded_picture().digest


def publish(store, uid, digest, body="Look", alt="", **more):
    new = NewPost(body, media=Media((Picture(digest, alt=alt),), **more))
    return Posts(store).publish(uid, new, new_token()).pid


def test_a_picture_and_its_description_come_with_the_post(browser, alice, raw):
    form = {"body": "Look", "token": "t1", "picture": [uploaded("red"), uploaded("blue")], "alt": ["Something red", ""]}
    assert browser(alice).post("/post/", form)["Location"] == "/"
    red, blue = decoded_picture().digest, decoded_picture("blue").digest
    stored = [[red, 900, 600, "Something red", hash_of("red")], [blue, 900, 600, "", hash_of("blue")]]
    assert json.loads(raw.hget("post:1", "media")) == {"pictures": stored}
    assert raw.zrange(f"media_users:{red}", 0, -1) == ["post:1:1"]
    assert raw.zcard("outbox") == 0
    page = browser().get("/timeline/?of=all").content.decode()
    assert page.count('<img src="/media/') == 2
    assert f'src="/media/{red}-600.webp" width="900" height="600" alt="Something red" loading="lazy"' in page
    assert "Picture 2, without a description" in page
    large = browser().get("/@Alice/1/pictures/2/").content.decode()
    assert f'src="/media/{blue}.webp"' in large
    assert 'rel="prev" href="/@Alice/1/pictures/1/"' in large
    assert browser().get("/@Alice/1/pictures/3/").status_code == 404


def test_a_post_may_have_a_picture_and_no_text(browser, alice, raw):
    browser(alice).post("/post/", {"body": "", "token": "t1", "picture": uploaded(), "sensitive": "1"})
    assert raw.hget("post:1", "body") == ""
    assert json.loads(raw.hget("post:1", "media"))["sensitive"] is True
    assert "Sensitive pictures" in browser().get("/@Alice/1/").content.decode()


@pytest.mark.parametrize(
    ("alt", "sensitive", "words"),
    [("A <cat>", False, "A &lt;cat&gt;"), ("", False, "Picture"), ("A <cat>", True, "Picture")],
)
def test_where_the_text_stands_for_a_post_pictures_alone_are_named(
    browser, alice, bob, carol, store, red, alt, sensitive, words
):
    """In its author's notices, its menu, the queue of the moderators, and what they tell its author."""
    pid = publish(store, 1, red, "", alt, sensitive=sensitive)
    Likes(store).like(2, pid, 1)
    one = report(store, 2, 1, pid, body="", media=Posts(store).read([pid])[0].media)
    make_moderator(store, 3)
    assert f'<p class="body" dir="auto"><a href="/@Alice/1/">{words}</a></p>' in page_of(
        browser(alice).get("/notifications/")
    )
    menu = page_of(browser(alice).get("/@Alice/1/more/"))
    assert f": {words} · " in re.findall("<title>.*", menu)[0]
    assert f'aria-label="Delete this post: {words}"' in menu
    assert f": {words} · " in page_of(browser(bob).get("/@Alice/1/repost-or-quote/"))
    assert f'<p class="reported" dir="auto">{words}</p>' in page_of(browser(carol).get("/moderation/"))
    Reports(store).decide(one, 3, [Action.DELETE], "No")
    assert f'<p class="body" dir="auto">{words}</p>' in page_of(browser(alice).get("/notifications/"))


def test_what_an_error_page_sends_again_removes_the_picture_and_publishes_nothing(member, raw, red):
    member.get("/")
    with broken_store(redis.ConnectionError()):
        failed = member.post("/post/", {"body": "Look", "media": [red], "alt": [""], "remove": red}).content.decode()
    kept = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', failed)
    again = member.post("/post/", {"body": "Look"} | dict(kept))
    assert not raw.exists("post:1")
    assert "Look</textarea>" in again.content.decode()
    assert 'name="media"' not in again.content.decode()


def test_a_form_of_another_user_comes_back_and_says_that_its_pictures_stay_behind(member, bob, red):
    for sent, says in (({"media": red, "alt": ""}, True), ({}, False)):
        page = page_of(member.post("/post/", {"body": "Look", "as": bob.user.uid} | sent), 409)
        assert ("Pictures that you chose are not sent again." in page) == says


def test_after_a_logout_elsewhere_the_pictures_and_their_descriptions_stay_in_the_form(browser, alice, raw, red):
    client, phone = browser(alice), browser(alice)
    phone.post("/logout/")
    sent = {"body": "", "media": red, "alt": "Something red", "sensitive": "1", "as": alice.user.uid, "token": "t1"}
    failed = page_of(client.post("/post/", sent), 403)
    assert "Nothing was saved. Log in in another window, then send this form again." in failed
    kept = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', failed))
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    client.post("/post/", {"body": "Look"} | kept)
    media = json.loads(raw.hget("post:1", "media"))
    assert [one[0::3] for one in media["pictures"]] == [[red, "Something red"]]
    assert media["sensitive"] is True


def test_without_a_script_pictures_are_added_described_and_removed(member, raw):
    form = {"body": "Look", "token": "t1", "picture": [uploaded("red"), uploaded("blue")], "add": "1"}
    page = page_of(member.post("/post/", form))
    digests = re.findall(r'name="media" value="(\w+)"', page)
    assert len(digests) == 2
    assert "Look</textarea>" in page
    assert 'name="token" value="t1"' in page
    assert not raw.exists("post:1")
    again = member.post("/post/", {"body": "Look", "media": digests, "alt": ["one", "two"], "remove": digests[0]})
    assert re.findall(r'name="media" value="(\w+)"', again.content.decode()) == digests[1:]
    assert "two</textarea>" in again.content.decode()
    member.post("/post/", {"body": "Look", "media": digests[1:], "alt": ["two"]})
    assert [one[:4] for one in json.loads(raw.hget("post:1", "media"))["pictures"]] == [[digests[1], 900, 600, "two"]]


def test_an_error_of_the_form_keeps_the_pictures(browser, alice, raw):
    answer = browser(alice).post("/post/", {"body": "x" * 281, "picture": uploaded(), "alt": "Something red"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert f'name="media" value="{decoded_picture().digest}"' in page
    assert "Something red</textarea>" in page
    assert raw.zcard("outbox") == 1  # the job that removes it, if no post comes


def test_a_form_that_was_posted_already_keeps_new_pictures(member, raw):
    member.post("/post/", {"body": "First", "token": "t1"})
    page = page_of(member.post("/post/", {"body": "Second", "token": "t1", "picture": uploaded()}), 422)
    assert "already posted" in page
    assert f'name="media" value="{decoded_picture().digest}"' in page
    assert 'name="token" value="t1"' not in page


def test_what_is_no_picture_is_refused_and_nothing_is_posted(browser, alice, raw):
    files = [SimpleUploadedFile("x.png", b"<svg/>"), uploaded()]
    page = page_of(browser(alice).post("/post/", {"body": "Look", "picture": files}), 422)
    assert "x.png" in page
    assert "not a picture that the site can read" in page
    assert decoded_picture().digest in page  # the other one is kept
    assert not raw.exists("post:1")


def test_five_pictures_are_too_many(browser, alice, raw):
    files = [uploaded(colour) for colour in ("red", "blue", "lime", "gold", "pink")]
    page = page_of(browser(alice).post("/post/", {"body": "Look", "picture": files}), 422)
    assert "at most 4 pictures" in page
    assert page.count('name="media"') == 4


def test_nobody_posts_the_picture_of_somebody_else(browser, alice, bob, red, raw):
    assert "no longer there" in page_of(browser(bob).post("/post/", {"body": "Mine", "media": red, "alt": ""}), 422)
    assert not raw.exists("post:1")


def test_a_large_form_is_read_at_the_address_for_pictures_alone(browser, alice, raw, settings):
    noise = SimpleUploadedFile("x.png", picture_file() + bytes(3 * 1024 * 1024))
    client = browser(alice)
    assert client.post("/post/", {"body": "Look", "picture": noise}).status_code == 302
    noise.seek(0)
    assert client.post("/settings/language/", {"language": "de", "picture": noise}).status_code == 413
    settings.LARGEST_UPLOAD = 1024 * 1024
    answer = client.post("/post/", {"body": "Long", "picture": io.BytesIO(bytes(2 * 1024 * 1024))})
    assert answer.status_code == 422
    assert "Long" in answer.content.decode()
    assert "Pictures may have 1 MB together." in answer.content.decode()
    file = SimpleUploadedFile("x.png", bytes(2 * 1024 * 1024), "image/png")
    answer = App(alice).client.post("/api/v2/media", {"file": file})
    assert (answer.status_code, answer.json()["error"][:32]) == (422, "Pictures may have 1 MB together.")


def test_an_edit_keeps_the_pictures_and_may_leave_no_text(browser, alice, store, red, raw):
    pid = publish(store, 1, red, alt="Something red")
    before = raw.hget(f"post:{pid}", "media")
    assert "<img" in browser(alice).get(f"/@Alice/{pid}/edit/").content.decode()
    assert browser(alice).post(f"/@Alice/{pid}/edit/", {"body": ""}).status_code == 302
    assert (raw.hget(f"post:{pid}", "media"), raw.hget(f"post:{pid}", "body")) == (before, "")


def test_the_last_post_that_shows_a_picture_takes_it_with_it(store, alice, red, raw):
    first, second = publish(store, 1, red), publish(store, 1, red)
    Posts(store).delete(1, first)
    drain(store, "worker")
    assert raw.hget(f"post:{first}", "media") is None
    assert raw.zrange(f"media_users:{red}", 0, -1) == [f"post:1:{second}"]
    assert raw.exists(f"media:{red}")
    Posts(store).delete(1, second)
    drain(store, "worker")
    assert list(raw.keys("*media*")) == []
    assert raw.zcard("outbox") == 0


def test_other_jobs_are_read_for_a_picture_only_when_a_post_of_it_may_still_be_published(store, red, raw, round_trips):
    """Else each picture of a removed account would read the jobs of all the others."""
    pid = publish(store, 1, red)
    raw.zadd(f"media_users:{red}", {"post:1:900": 1})
    raw.zadd("outbox", {"post:900:x": int(time.time()) + 60})
    Posts(store).delete(1, pid)
    drain(store, "worker")
    assert raw.exists(f"media:{red}")
    raw.hset("post:900", mapping={"user_id": "1", "deleted": "1"})
    sent = round_trips(lambda: settle_picture(store, red))
    assert "ZSCAN" not in {command[0] for command in sent.commands}
    assert list(raw.keys("*media*")) == []


def test_a_bad_field_shows_no_picture(browser, alice, store, red, raw):
    pid = publish(store, 1, red)
    for bad in (
        "[]",
        "{}",
        "x",
        "[" * 9999,
        '{"pictures":[["../../x",1,1,""]]}',
        '{"pictures":[["' + "0" * 40 + '",0,1,""]]}',
    ):
        raw.hset(f"post:{pid}", "media", bad)
        assert "/media/" not in page_of(browser().get(f"/@Alice/{pid}/"))


DAMAGED = "pictures of posts that are not there, cannot be read, or that nothing keeps"


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("bad", ["x", "{}", "[1]", '{"pictures":[]}', "cut off", "other quotes"])
def test_pictures_outlive_a_damaged_field_and_come_back_with_doctor(store, alice, red, raw, capsys, bad):
    other = decoded_picture("blue").digest
    for digest in ("blue", "lime"):  # nothing shows the lime one
        Pictures(store).add(1, decoded_picture(digest))
    new = NewPost("Two", media=Media((Picture(other), Picture(red)), sensitive=True))
    pid = Posts(store).publish(1, new, new_token()).pid
    describe(store, 1, pid, {red: "Red"})
    raw.hset(f"post:{pid}", f"alt:{red}", "Red")  # as until a worker has come
    drain(store, "worker")
    right = raw.hget(f"post:{pid}", "media")
    damaged = {"cut off": right[:-2], "other quotes": right.replace('"', "'", 2)}.get(bad, bad)
    raw.hset(f"post:{pid}", "media", damaged)
    call_command("cleanup", verbosity=0)
    assert settle_picture(store, red)
    assert raw.exists(f"media:{red}", f"media:{other}") == 2
    finds_and_mends(capsys, {DAMAGED: 1})
    found = media_from("", raw.hget(f"post:{pid}", "media"))
    if bad in {"cut off", "other quotes"}:
        assert raw.hget(f"post:{pid}", "media") == right
    assert {one.digest: one.alt for one in found.pictures} == {other: "", red: "Red"}
    assert raw.hget(f"damaged:post:{pid}:values", "media") == damaged


@pytest.mark.usefixtures("no_waiting")
def test_a_damaged_field_of_a_post_without_pictures_goes(store, alice, raw, capsys):
    pid = Posts(store).publish(1, NewPost("None"), new_token()).pid
    raw.hset(f"post:{pid}", "media", "x")
    finds_and_mends(capsys, {DAMAGED: 1})
    assert not raw.hexists(f"post:{pid}", "media")


# ---- descriptions


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


def test_the_docstring_says_how_many_round_trips_a_description_takes(store, pid, raw, round_trips):
    trips = [len(round_trips(lambda: describe(store, 1, pid, {RED: "Red"})).round_trips) for _ in range(2)]
    assert alts(raw) == ["Red"]
    assert trips == [7, 1]
    assert "Seven round trips; one without a change" in describe.__doc__


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


def test_descriptions_that_were_saved_meanwhile_are_shown_before_they_are_replaced(browser, alice, pid, raw):
    """Two windows have one form. The second one is refused once, also when it changes the text alone: it has the
    descriptions of before."""
    client, address = browser(alice), f"/@Alice/{pid}/edit/"

    def made_of(page):
        return re.search(r'name="made_of" value="(.*?)"', page)[1]

    form = {"body": "Look", "media": RED, "made_of": made_of(page_of(client.get(address)))}
    for _ in range(2):  # a second click
        assert client.post(address, {**form, "alt": "From one window"}).status_code == 302
    for other in ({"alt": "From the other"}, {"alt": "", "body": "Look at this"}):
        page = page_of(client.post(address, {**form, **other}), 422)
        assert "Saving again replaces what it says now:" in page
        assert "Look<br>From one window</blockquote>" in page
        assert f"{other['alt']}</textarea>" in page
        assert (raw.hget("post:1", "body"), alts(raw)) == ("Look", ["From one window"])
    assert client.post(address, {**form, "made_of": made_of(page), "alt": ""}).status_code == 302
    page = page_of(client.post(address, {**form, "made_of": made_of(page), "alt": "From the other"}), 422)
    assert "Look<br>Picture 1, without a description</blockquote>" in page
    client.post(address, {**form, "made_of": made_of(page), "alt": "From the other"})
    assert alts(raw) == ["From the other"]


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


def test_a_picture_that_staff_has_removed_goes_before_its_post_says_so(red, store, raw):
    pid = publish(store, 1, red)
    raw.hset(f"post:{pid}", f"removed:{red}", "1")  # `media` follows, which another change may write late
    assert settle_picture(store, red)
    assert not raw.exists(f"media:{red}", f"media_info:{red}", f"media_users:{red}")


def test_a_picture_stays_while_its_post_has_not_said_yet_what_it_shows(red, store, raw):
    pid = publish(store, 1, red)
    raw.hdel(f"post:{pid}", "media")  # as a reader on several servers may see it beside the list of its author
    assert not settle_picture(store, red)
    assert raw.zrange(f"media_users:{red}", 0, -1) == [f"post:1:{pid}"]
    assert raw.exists(f"media:{red}")
