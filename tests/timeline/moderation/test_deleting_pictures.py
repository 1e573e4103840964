"""Staff deletes one picture of a post; the rest of the post stays, and nobody uploads the picture again."""

import io
import json
import re
from dataclasses import replace

import pytest
import redis
from PIL import Image

from accounts.community.acts import BLOCKED
from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions
from accounts.media import repository
from accounts.media.decoding import Decoded, Shape
from accounts.media.repository import PictureBlocked, PictureGone, Pictures, is_alike
from accounts.signing_in.middleware import POSTS_CHANGED
from accounts.users.entities import State
from retwis_site.jobs.worker import drain
from tests.support.pictures import decoded_once, decoded_picture, picture_file
from tests.support.protocols.reports import report
from tests.support.stores.seam import broken_store
from timeline.moderation.reports import Reports
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.pictures import remove_by_staff
from timeline.posts.repository import Posts

LOOK = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def post(store, bob):
    """bob's post with two pictures."""
    pictures = [decoded_picture(colour) for colour in ("red", "blue")]
    for one in pictures:
        Pictures(store).add(bob.user.uid, one)
    media = Media(tuple(Picture(one.digest) for one in pictures))
    return Posts(store).publish(bob.user.uid, NewPost("Look", media=media), "t1").pid


def test_one_picture_goes_and_the_other_stays_and_the_author_is_told(admin, browser, bob, store, post, raw):
    red, blue = decoded_picture().digest, decoded_picture("blue").digest
    form = {"reason": "Not allowed", "picture": red, "block": "1"}
    assert "Delete this picture" in admin.get(f"/moderation/people/bob/{post}/").content.decode()
    assert admin.post(f"/moderation/people/bob/{post}/", form).status_code == 302
    assert admin.cookies[POSTS_CHANGED].value == str(post)  # each worker reads it anew
    drain(store, "worker")
    assert [one[0] for one in json.loads(raw.hget(f"post:{post}", "media"))["pictures"]] == [blue]
    assert not raw.exists(f"media:{red}")
    assert raw.exists(f"media:{blue}")
    assert raw.hkeys("blocked_media") == [red]
    assert '"picture:deleted"' in raw.zrange(raw.keys("log:*")[0], 0, -1)[0]
    assert raw.zcard("outbox") == 0
    told = browser(bob).get("/notifications/").content.decode()
    assert re.search(r"The moderators have deleted a picture of yours\..*Look.*Not allowed", told, re.S)


@pytest.mark.parametrize(("apart", "times"), [(0, 1), (59, 1), (61, 2)])  # seconds
def test_two_moderators_who_delete_one_picture_at_once_tell_its_author_once(
    store, alice, bob, carol, post, raw, apart, times
):
    """Its author may upload it again, and it may go again: that is told anew."""
    red = decoded_picture().digest
    first = Act(what="report:picture_deleted", by=1, whom=bob.user.uid, post=post, also=f"{red}:blocked:")
    for by, at in ((1, first.at), (3, first.at + 1000 * apart)):
        act = replace(first, by=by, at=at, id=f"a{by}")
        one = report(store, by, bob.user.uid, post)
        raw.hset(f"report:{one.rid}", "decision", act.line())  # both have seen the picture on the post
        assert list(Reports(store).finish(one.rid))
    assert len([told for told in raw.zrange("notices:2", 0, -1) if told.startswith("report:")]) == times
    assert sorted(act.by for act in Log(store).about(bob.user.uid)) == [1, 3]


def test_two_pictures_of_one_post_are_told_apart(admin, store, post, raw):
    for colour in ("red", "blue"):
        admin.post(f"/moderation/people/bob/{post}/", {"reason": "No", "picture": decoded_picture(colour).digest})
    assert len([told for told in raw.zrange("notices:2", 0, -1) if told.startswith("report:")]) == 2


def test_what_an_error_page_sends_again_deletes_one_picture_and_not_the_post(admin, store, post, raw):
    address, red = f"/moderation/people/bob/{post}/", decoded_picture().digest
    admin.get(address)
    with broken_store(redis.ConnectionError()):
        failed = admin.post(address, {"reason": "No", "picture": red, "block": "1"}).content.decode()
    kept = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', failed)
    admin.post(address, {"reason": "No"} | dict(kept))
    assert not raw.hexists(f"post:{post}", "deleted")
    assert red not in raw.hget(f"post:{post}", "media")
    assert raw.hexists("blocked_media", red)


def test_a_form_without_a_reason_comes_back_as_it_was_ticked(admin, store, post, raw):
    """What is blocked is so for good."""
    address, form = f"/moderation/people/bob/{post}/", {"reason": "", "picture": decoded_picture().digest}
    for sent, is_ticked in (({}, False), ({"block": "1"}, True)):
        refused = admin.post(address, form | sent).content.decode()
        assert ('name="block" value="1" checked' in refused) == is_ticked


@pytest.mark.parametrize("address", ["/moderation/people/bob/", "/moderation/new/"])
def test_staff_sees_the_pictures_where_posts_are_listed_and_the_way_to_them_of_a_suspended_person(
    admin, store, post, raw, address
):
    raw.hset(f"post:{post}", "body", "")
    Sanctions(store).impose(2, State.SUSPENDED, "Ads")
    page = admin.get(address).content.decode()
    assert page.count('<img src="/media/') == 2
    assert "<br>" not in page  # no empty line in the place of the text
    [way] = re.findall(r'<a href="([^"]+)"><time', page)
    assert admin.get(way).content.decode().count('<img src="/media/') == 2


PAGES = ("/moderation/people/bob/", "/moderation/new/", "/moderation/people/bob/{}/", "/moderation/reports/{}/")


@pytest.mark.parametrize("address", PAGES)
@pytest.mark.parametrize("sensitive", [True, False])
def test_what_its_author_has_covered_is_covered_for_staff_and_said(admin, store, post, raw, carol, address, sensitive):
    media = json.loads(raw.hget(f"post:{post}", "media"))
    media["pictures"][0][3] = "A body"
    raw.hset(f"post:{post}", mapping={"media": json.dumps({**media, "sensitive": sensitive}), "body": ""})
    rid = report(store, carol.user.uid, 2, post, body="", media=Posts(store).read([post])[0].media).rid
    page = admin.get(address.format(rid if "reports" in address else post)).content.decode()
    covered = re.findall(r'<details class="covered"><summary>Sensitive pictures</summary>.*?</details>', page, re.S)
    assert sum(one.count('src="/media/') for one in covered) == (2 if sensitive else 0)
    assert page.count('src="/media/') == 2
    assert "<blockquote" not in page
    if sensitive:  # nor does a text say it outside of the cover
        assert "A body" not in re.sub(r'<details class="covered".*?</details>', "", page, flags=re.S)


@pytest.mark.parametrize("address", PAGES)
def test_a_picture_of_a_staff_page_has_a_name_for_screen_readers(admin, store, post, raw, carol, address):
    media = json.loads(raw.hget(f"post:{post}", "media"))
    media["pictures"][0][3] = "A <watch>"
    raw.hset(f"post:{post}", "media", json.dumps(media))
    rid = report(store, carol.user.uid, 2, post, media=Posts(store).read([post])[0].media).rid
    page = admin.get(address.format(rid if "reports" in address else post)).content.decode()
    assert re.findall(r'<img[^>]* alt="([^"]+)"', page) == [
        "A &lt;watch&gt;",
        "Picture 2" if address == PAGES[2] else "Picture",
    ]
    if "Delete this picture" in page:
        assert re.findall(r'aria-describedby="(picture_.)"', page) == re.findall(r' id="(picture_.)"', page) != []


def test_what_is_decided_with_a_report_shows_its_pictures(admin, store, post, carol):
    """Of a post without a text, nothing else says what is chosen."""
    there = Posts(store).read([post])[0].media
    report(store, carol.user.uid, 2, post, body="", media=there)
    about_him = report(store, carol.user.uid, 2)
    page = admin.get(f"/moderation/reports/{about_him.rid}/?all=1").content.decode()
    [shown] = re.findall(r"Also decide these reports.*?</fieldset>", page, re.S)
    assert re.findall(r'<img src="/media/([0-9a-f]+)', shown) == there.digests
    assert '<span dir="auto">Picture</span>' in shown


def test_a_blocked_picture_and_one_that_looks_alike_are_refused(store, bob, raw, monkeypatch, post):
    red = decoded_picture()
    remove_by_staff(store, Act(what="", by=1, whom=bob.user.uid, post=post), red.digest, BLOCKED)
    monkeypatch.setattr(repository, "decoded", decoded_once)
    with pytest.raises(PictureBlocked):
        Pictures(store).upload(2, picture_file(), Shape.POST)
    raw.hset("blocked_media", "f" * 40, LOOK)
    changed = Decoded("e" * 40, 9, 9, {"": b"x"}, f"{int(LOOK, 16) ^ 0b111:032x}", "")
    monkeypatch.setattr(repository, "decoded", lambda *_: changed)
    with pytest.raises(PictureBlocked):
        Pictures(store).upload(2, b"", Shape.POST)


def test_what_was_uploaded_before_its_picture_was_blocked_cannot_be_posted(store, bob, carol, raw, post):
    red = decoded_picture().digest
    again = NewPost("Again", media=Media((Picture(red),)))
    Pictures(store).add(carol.user.uid, decoded_picture())
    shown = Posts(store).publish(carol.user.uid, again, "t2").pid
    for login in (bob, carol):
        Pictures(store).add(login.user.uid, decoded_picture())  # for another post
    remove_by_staff(store, Act(what="", by=1, whom=bob.user.uid, post=post), red, BLOCKED)
    drain(store, "worker")
    for login in (bob, carol):
        with pytest.raises(PictureGone):
            Posts(store).publish(login.user.uid, again, "t3")
    Posts(store).edit(carol.user.uid, shown, "What shows it can be edited")
    assert raw.hkeys("blocked_media") == [red]
    assert f"post:{carol.user.uid}:{shown}" in raw.zrange(f"media_users:{red}", 0, -1)


@pytest.mark.parametrize("blocked", list(Shape))
def test_a_blocked_picture_is_refused_in_every_shape_also_as_it_was_shown(store, alice, quick_decoder, blocked):
    file = io.BytesIO()
    drawn = Image.linear_gradient("L").rotate(30).resize((1200, 500))
    drawn.paste(Image.radial_gradient("L").resize((300, 300)), (450, 100))
    drawn.save(file, "PNG")
    shown = Pictures(store).upload(1, file.getvalue(), blocked)
    Pictures(store).block(shown.digest)
    for shape in Shape:
        with pytest.raises(PictureBlocked):
            Pictures(store).upload(1, file.getvalue(), shape)
        with pytest.raises(PictureBlocked):
            Pictures(store).upload(1, shown.files[""], shape)


@pytest.mark.parametrize(("blocked", "trips"), [("", 10), (f"{BLOCKED} {LOOK}", 11)])
def test_the_docstring_says_how_many_round_trips_a_removal_takes(store, bob, post, round_trips, blocked, trips):
    act = Act(what="", by=1, whom=bob.user.uid, post=post)
    sent = round_trips(lambda: remove_by_staff(store, act, decoded_picture().digest, blocked))
    assert len(sent.round_trips) == trips
    assert "Ten round trips, one more to block" in " ".join(remove_by_staff.__doc__.split())


def test_plain_pictures_are_not_alike():
    assert is_alike(LOOK, LOOK)
    assert not is_alike("0" * 32, "0" * 32)
    assert not is_alike(LOOK, "f" * 32)
    assert not is_alike("0", LOOK)


def test_a_report_keeps_the_pictures_until_it_is_decided(admin, browser, bob, carol, store, post, raw):
    red = decoded_picture().digest
    browser(carol).post(f"/@bob/{post}/report/", {"reason": "spam", "note": ""})
    [rid] = raw.zrange("reports", 0, -1)
    Posts(store).delete(bob.user.uid, post)
    drain(store, "worker")
    assert raw.zrange(f"media_users:{red}", 0, -1) == [f"report:2:{rid}"]
    assert f"/media/{red}-600.webp" in admin.get(f"/moderation/reports/{rid}/").content.decode()
    decided = admin.post(f"/moderation/reports/{rid}/", {"action": "dismissed", "reason": "Gone"})
    assert decided.status_code == 302
    drain(store, "worker")
    assert list(raw.keys("media*")) == []


def test_the_form_of_a_report_shows_the_pictures_that_it_is_about(browser, carol, post, raw):
    raw.hset(f"post:{post}", "body", "")
    page = browser(carol).get(f"/@bob/{post}/report/").content.decode()
    assert page.count('<img src="/media/') == 2
    assert "<blockquote" not in page
