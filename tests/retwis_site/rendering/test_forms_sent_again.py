"""An error page sends a form again as it was: every form of the site, with each of its buttons. A field that were lost
would make it another act; a secret does not come back. The addresses are those of the URLconf."""

import io
import itertools
import re
from urllib.parse import urlencode

import pytest
import redis
from django.urls import get_resolver, resolve

from accounts.community.acts import Roles
from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Invitations
from accounts.media.decoding import Shape
from accounts.media.repository import Pictures
from accounts.recovery.codes import ResetLinks
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support import second_factors
from tests.support.apps import App, token_of
from tests.support.http.forms import Forms
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD, log_in
from tests.support.pictures import picture_file, uploaded
from tests.support.stores.seam import broken_store
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.delivery import Reposts
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HomeTags
from timeline.relations.relations import BlockedPeople, Bookmarks, Follows, Likes, MutedThreads, Mutes, TagFollows
from timeline.timelines.profile import Pins

ALICE, BOB, CAROL = 1, 2, 3
AT, BLOCKED = 1_800_000_000_000, "f" * 40  # when staff has blocked a picture, and which
FORM = "application/x-www-form-urlencoded"
NO_PAGES = {"api", "nodeinfo", "nodeinfo_links", "oauth_token", "oauth_revoke", "download"}
# Of forms with secrets: what an error page leaves out. The form asks for it again, or begins anew.
LEFT_OUT = {
    "username": "for password managers alone",
    "passkey": "an answer of a passkey, for one time",
    "name": "of a passkey that begins anew",
    "key": "of an authenticator app that begins anew",
    "codes": "recovery codes",
    "code": "of such an app",
}
SECRETS = {"code", "codes", "key", "passkey"}  # besides those that a browser hides


@pytest.fixture
def site(store, raw, alice, bob, carol, browser, quick_decoder, monkeypatch):
    """Alice is an admin, bob has two more factors, carol is frozen. There is one of everything that a page can list."""
    Roles(store).give(ALICE, Role.ADMIN)
    Sanctions(store).impose(CAROL, State.FROZEN, "insults")
    raw.hset("site", mapping={"registration": "approval", "invites": "5", "announcement": "Hello", "rules": "One\nTwo"})
    red = Pictures(store).upload(BOB, picture_file(), Shape.POST)
    picture = Media((Picture(red.digest, red.width, red.height, ""),))
    raw.hset("user:2", "picture", red.digest)
    posts = Posts(store)
    posts.publish(BOB, NewPost("bob's #redis", media=picture), "one")
    posts.publish(BOB, NewPost("bob's other #poems"), "two")
    posts.publish(ALICE, NewPost("Alice's"), "three")
    posts.publish(ALICE, NewPost("Alice's other"), "four")
    rids = [Reports(store).make(CAROL, NewReport(BOB, pid, "spam")) for pid in (1, None)]
    Log(store).write(Act(what="picture:removed", by=ALICE, whom=BOB, at=AT, also=BLOCKED))
    raw.hset("blocked_media", BLOCKED, "0")
    Likes(store).like(ALICE, 2, BOB)
    Bookmarks(store).add(ALICE, 2, BOB)
    Reposts(store).repost(ALICE, 2, BOB)
    MutedThreads(store).mute(ALICE, 2)
    Pins(store).pin(ALICE, 4)
    BlockedPeople(store).block(ALICE, CAROL)
    Mutes(store).mute(BOB, ALICE)
    Mutes(store).mute_reposts(CAROL, BOB)
    Follows(store).follow(ALICE, BOB)
    TagFollows(store).follow(ALICE, "redis")
    TagFollows(store).follow(BOB, "redis")
    log_in(store, "Alice")
    HomeTags(store).add(ALICE, "redis")
    token_of(alice)
    second_factors.App(monkeypatch).add(store, BOB)
    second_factors.Authenticator(BOB).add(store)
    drain(store, "worker")
    Memory.clear_all()
    sent = {"username": "dave", "password1": PASSWORD, "password2": PASSWORD, "why": "Because"}
    browser().post("/register/", sent)
    browser(alice).post("/settings/words/", {"words": "bad", "where": "everywhere", "how": "hide"})
    browser(alice).post("/settings/invites/", {})
    found = {"visitor": browser(), "alice": browser(alice), "bob": browser(bob), "carol": browser(carol)}
    return found, store, rids, red.digest


def paths(store, rids):
    """Every address of the URLconf, of the people and posts of this site."""
    parts = {"username": ("Alice", "bob"), "pid": (1, 2, 3, 4), "tag": ("redis", "poems"), "rid": rids, "number": (1,)}
    parts |= {"token": (ResetLinks(store).make(BOB),), "code": (Invitations(store).make().code,)}
    parts |= {"at": (AT,), "digest": (BLOCKED,)}
    for pattern in get_resolver().url_patterns:
        names = list(pattern.pattern.converters)
        if pattern.name in NO_PAGES or pattern.name.endswith("_with_slash"):
            continue
        for values in itertools.product(*(parts.get(name, ("x",)) for name in names)):
            given = dict(zip(names, values, strict=True))
            if "pid" in given and (given["username"] == "bob") != (given["pid"] in (1, 2)):
                continue
            yield "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: str(given[part[1]]), str(pattern.pattern))  # noqa: B023


def consents():
    """The addresses at which an app asks, without a password and with one."""
    registration = {"client_name": "T", "redirect_uris": "https://t.example/", "scopes": "read"}
    app = App().json("POST", "/api/v1/apps", registration)
    asked = {"client_id": app["client_id"], "response_type": "code", "redirect_uri": "https://t.example/"}
    return [f"/oauth/authorize?{urlencode(asked | more)}" for more in ({}, {"force_login": "true"})]


def pages(browsers, store, rids, red):
    """(who, path, HTML) of every page, also of those that a form leads to."""
    browsers["visitor"].post("/login/", {"username": "bob", "password": PASSWORD})  # the second factor is asked next
    for path in (*paths(store, rids), *consents()):
        for who in browsers if path.count("/") < 4 else ("alice",):
            answer = browsers[who].get(path)
            if "html" in answer["Content-Type"]:
                yield who, path, answer.content.decode()
    for path in ("/settings/security/totp/add/", "/settings/security/passkeys/add/", "/settings/recovery/"):
        yield "alice", path, browsers["alice"].post(path, {"password": PASSWORD}).content.decode()
    for sent in ({"body": "x", "as": ALICE}, {"body": "x", "add": 1, "media": red, "alt": ""}):
        yield "bob", "/post/", browsers["bob"].post("/post/", sent).content.decode()


def different(pages):
    """(who, address, fields, form, view) of each form with each of its buttons; those that are alike, once."""
    seen = {}
    for who, path, html in pages:
        for form in Forms(html, path).found:
            for address, fields in form.sent():
                view = resolve(address.partition("?")[0])
                named = tuple(sorted({name for name, _ in fields}))
                seen.setdefault((view.url_name, named, fields[-1]), (who, address, fields, form, view))
    return seen.values()


def without_token(fields):
    return [one for one in fields if one[0] != "csrfmiddlewaretoken"]


def taking_forms(admin):
    """The names of all views that take a POST, as they say to another method."""
    for pattern in get_resolver().url_patterns:
        path = "/" + re.sub(r"<(?:\w+:)?\w+>", "1", str(pattern.pattern))
        if pattern.name in NO_PAGES or pattern.name.endswith("_with_slash"):
            continue
        if "POST" in admin.delete(path).get("Allow", ""):
            yield pattern.name


def page_of_a_part(client, address, body):
    """A form that lacks its last byte is refused before a view looks at it."""
    path, _, query = address.partition("?")
    about = {"REQUEST_METHOD": "POST", "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_TYPE": FORM}
    about |= {"CONTENT_LENGTH": str(len(body) + 1), "wsgi.input": io.BytesIO(body)}
    about["HTTP_ORIGIN"] = "http://testserver"
    return client.request(**about).content.decode()


def test_every_form_is_sent_again_with_all_its_fields_and_without_secrets(site, raw, browser):
    forms = list(different(pages(*site)))
    for who, address, fields, form, view in forms:
        page = page_of_a_part(browser(), address, urlencode(fields).encode())
        sent, where = without_token(fields), f"{address} from {who}"
        names, has_secrets = {name for name, _ in sent}, getattr(view.func, "has_secrets", False)
        takes_secrets = form.secrets or (SECRETS & names and view.url_name != "remove_passkey")  # that one is an id
        assert has_secrets or not takes_secrets, f"{where}: a view that takes a secret is marked `for_secrets`"
        for again in Forms(page.partition('<main id="main"')[2], address).found:
            kept = without_token(again.fields)
            lost = {name for name, value in sent if (name, value) not in kept} - again.secrets
            assert lost <= (LEFT_OUT.keys() if has_secrets else set()), where
            assert again.action == address
            assert {"codes", "key"}.isdisjoint(name for name, _ in kept), where
            assert form.secrets <= again.secrets, where
            assert {value for name, value in kept if name in again.secrets} <= {""}, where
            break
        else:
            assert names <= LEFT_OUT.keys() or view.url_name == "oauth_authorize", where
    assert {view.url_name for *_, view in forms} == set(taking_forms(site[0]["alice"]))


def again_after_a_failure(client, address, sent, **headers):
    """Sends a form while the store fails, and then that of the error page."""
    with broken_store(redis.ConnectionError()):
        failed = client.post(address, urlencode(sent), content_type=FORM, **headers).content.decode()
    [form] = Forms(failed.partition('<main id="main"')[2], address).found
    return client.post(form.action, urlencode(form.fields), content_type=FORM)


@pytest.mark.parametrize("button", ["allow", "deny"])
@pytest.mark.parametrize("number", [0, 1], ids=["without a password", "with one"])
def test_an_answer_to_an_app_is_asked_for_again(raw, browser, alice, button, number):
    """Browsers let no form of an error page lead to another site: only that of the consent may."""
    answer = again_after_a_failure(browser(alice), consents()[number], {button: "1"})
    assert answer.status_code == 200
    assert "form-action" not in answer["Content-Security-Policy"]
    assert {name for one in Forms(answer.content.decode(), "").found for _, name, _ in one.buttons} >= {"allow", "deny"}
    assert raw.keys("code:*") == []


def test_who_shows_reposts_again_still_mutes_the_person(store, raw, member, alice, bob):
    Mutes(store).mute(ALICE, BOB)
    Mutes(store).mute_reposts(ALICE, BOB)
    again_after_a_failure(member, "/@bob/unmute/", {"what": "reposts"})
    assert raw.zscore("muted:1", "2") is not None


def test_a_change_leads_back_to_the_page_that_had_its_form(store, raw, member, alice, bob):
    Posts(store).publish(BOB, NewPost("bob's"), "one")
    answer = again_after_a_failure(member, "/@bob/1/like/", {}, HTTP_REFERER="http://testserver/tags/redis/?before=3")
    assert answer["Location"] == "/tags/redis/?before=3#post-1"


def test_pictures_are_asked_for_again(raw, member):
    form = {"body": "Look", "picture": uploaded()}
    with broken_store(redis.ConnectionError()):
        failed = member.post("/post/", form).content.decode()
    [again] = Forms(failed.partition('<main id="main"')[2], "/post/").found
    assert again.files == {"picture"}
    assert 'action="/post/" enctype="multipart/form-data"' in failed
    assert "Pictures that you chose are not sent again." in failed


def test_a_picture_that_nobody_chose_is_not_asked_for_again(member):
    """Browsers send such a field as a part with an empty name of the file, which is read as a text."""
    part = '--x\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n{}\r\n'
    body = part.format("bio", "", "I bake.") + part.format("picture", '; filename=""', "") + "--x--\r\n"
    with broken_store(redis.ConnectionError()):
        failed = member.post("/settings/", body, content_type="multipart/form-data; boundary=x").content.decode()
    assert "I bake.</textarea>" in failed
    assert "kept_picture" not in failed


@pytest.mark.parametrize(
    ("address", "field", "label"),
    [
        ("/@alice/1/edit/", "body", "Your post"),
        ("/@bob/2/report/", "note", "What should the moderators know?"),
        ("/@carol/report/", "note", "What should the moderators know?"),
        ("/moderation/people/carol/", "reason", "Reason"),
    ],
)
def test_a_text_about_what_is_gone_can_be_copied_and_is_not_sent_again(
    store, raw, member, alice, bob, carol, address, field, label
):
    Roles(store).give(ALICE, Role.ADMIN)
    for pid, uid in enumerate((ALICE, BOB), start=1):
        Posts(store).publish(uid, NewPost("Hello"), str(pid))
        Posts(store).delete(uid, pid)
    AccountDeletion(store).delete(carol.user, carol.secret)
    page = page_of(member.post(address, {field: "A <long> thought"}), 410)
    assert f'<label for="kept_{field}">{label}</label>' in page
    assert "readonly>\nA &lt;long&gt; thought</textarea>" in page
    assert "Send it again" not in page
    assert "textarea" not in page_of(member.post(address, {field: ""}), 410)
    assert "textarea" not in page_of(member.get(address), 410)


def test_a_fault_of_the_site_loses_no_text(raw, member, alice, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    sent = {"body": "A long thought", "token": "t"}
    member.raise_request_exception = False
    with monkeypatch.context() as faulty:
        faulty.setattr(Posts, "publish", fail)
        failed = page_of(member.post("/post/", sent, headers={"origin": "http://testserver"}), 500)
    [form] = Forms(failed.partition('<main id="main"')[2], "/post/").found
    assert dict(without_token(form.fields)) == sent
    member.post(form.action, urlencode(form.fields), content_type=FORM)
    assert raw.hget("post:1", "body") == "A long thought"
