"""A sanctioned user: what a frozen one may do, and the appeal."""

import re
from html import unescape
from itertools import count

import pytest
import redis
from django.conf import settings
from django.urls import get_resolver, resolve

from accounts.community.acts import Roles
from accounts.community.log import Log
from accounts.community.sanctions import Sanctions, open_appeals
from accounts.community.views import TOKEN_LIVES, token_of, uid_of
from accounts.joining.joining import Invitations
from accounts.users.entities import Role, State
from retwis_site.rendering.dates import iso
from tests.support.http.forms import Forms
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import everything, publish
from tests.support.stores.seam import failing_store
from timeline.relations.muted_words import How, MutedWord, MutedWords, Where
from timeline.relations.relations import FOREVER, BlockedPeople, Mutes

# ---- A frozen user reads everything and changes nothing that others see; each refusal says why.


ALICE, BOB = 1, 2
OPEN = {
    *("register", "login", "logout", "password", "delete_account", "appearance", "language", "notification_settings"),
    *("appeal", "sessions", "log_out_everywhere", "dismiss", "recover", "reset", "recovery", "recovery_file"),
    # What an app may change says its own table.
    *("oauth_authorize", "apps", "api", "nodeinfo", "nodeinfo_links"),
    *("oauth_authorize_with_slash", "nodeinfo_links_with_slash"),
    *("invited", "second_step", "passkey_login", "confirm", "add_totp", "remove_totp", "add_passkey", "remove_passkey"),
}


@pytest.fixture
def frozen(store, raw, alice, bob, carol, browser):
    publish(raw, store, alice, "One")
    Sanctions(store).impose(BOB, State.FROZEN, "insults <b>", until=4_000_000_000)
    return browser(bob)


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/post/", {"body": "Hello"}),
        ("/@Alice/follow/", {}),
        ("/@Alice/block/", {}),
        ("/@Alice/mute/", {"what": "all", "days": ""}),
        ("/@Alice/1/like/", {}),
        ("/@Alice/1/repost/", {}),
        ("/@Alice/1/bookmark/", {}),
        ("/settings/", {"name": "Bobby", "bio": ""}),
        ("/tags/redis/follow/", {}),
    ],
)
def test_a_change_is_refused_and_the_page_says_why(frozen, raw, address, fields):
    before = everything(raw)
    answer = frozen.post(address, fields)
    page = answer.content.decode()
    assert answer.status_code == 403
    assert everything(raw) == before
    assert "Your account is frozen" in page
    assert "insults &lt;b&gt;" in page
    assert "It ends on 2 October 2096." in page
    assert 'href="/appeal/"' in page
    assert "no-store" in answer["Cache-Control"]


def test_the_text_of_a_refused_post_is_not_lost(frozen):
    assert "A long &lt;text&gt;" in frozen.post("/post/", {"body": "A long <text>"}).content.decode()


@pytest.mark.parametrize("address", ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/settings/"])
def test_a_frozen_user_reads_with_a_banner_on_each_page(frozen, address):
    page = frozen.get(address).content.decode()
    assert page.count('class="banner"') == 1
    assert "Your account is frozen." in page
    assert "insults &lt;b&gt;" in page


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/timeline/", "/@Alice/", "/@Alice/1/", "/people/", "/tags/redis/", "/explore/", "/@bob/"),
        *("/@Alice/1/quotes/", "/@Alice/1/likes/", "/@Alice/1/more/", "/@Alice/more/"),
        *("/@bob/more/", "/notifications/", "/notifications/?only=mentions"),
        *("/tags/", "/search/?q=one", "/bookmarks/", "/likes/"),
    ],
)
def test_a_frozen_user_is_offered_nothing_that_is_refused(frozen, raw, address):
    raw.hset("tags", "redis", "redis")
    page = frozen.get(address).content.decode()
    offers = ('href="/compose/', 'class="panel composer', 'class="follow"', "/follow/", "/like/", "/repost")
    for offer in ("Edit your profile", *offers):
        assert offer not in page
    assert frozen.get("/compose/").status_code == 403


def test_no_page_has_a_form_that_a_frozen_user_may_not_send(frozen, store, raw, bob):
    """Pages with nothing but such a form say so instead."""
    publish(raw, store, bob, "Mine")
    BlockedPeople(store).block(BOB, 3)
    Mutes(store).mute(BOB, ALICE)
    MutedWords(store).mute(BOB, MutedWord("spam", Where.HOME, How.HIDE, FOREVER), ())
    Invitations(store).make(BOB)
    given = {"username": "Alice", "pid": "1", "tag": "redis", "number": "1"}
    refused = set()
    for pattern in get_resolver().url_patterns:
        for named in (given, given | {"username": "bob", "pid": "2"}):
            address = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: named.get(part[1], "x"), str(pattern.pattern))  # noqa: B023
            answer = frozen.get(address)
            if answer.status_code == 403 and "Your account is frozen" in answer.content.decode():
                refused.add(pattern.name)
            elif answer.status_code == 200 and "html" in answer["Content-Type"]:
                forms = Forms(answer.content.decode(), address).found
                sent = [button[0] or form.action for form in forms for button in form.buttons]
                assert {resolve(one.partition("?")[0]).url_name for one in sent} <= OPEN, address
    assert refused == {"compose", "edit", "reposting", "report_person", "report_post", "first_steps"}


def test_a_frozen_moderator_is_offered_no_page_of_staff(frozen, store, raw):
    for role in (Role.MEMBER, Role.MODERATOR):
        Roles(store).give(BOB, role)
        for address in ("/moderation/", "/moderation/people/Alice/", "/moderation/joining/"):
            assert frozen.get(address).status_code == (404 if role is Role.MEMBER else 403)
        for address in ("/", "/@Alice/1/more/", "/@Alice/more/"):
            assert "/moderation/" not in frozen.get(address).content.decode()
    Sanctions(store).lift(BOB)
    assert "/moderation/people/Alice/1/" in frozen.get("/@Alice/1/more/").content.decode()
    assert "/moderation/people/Alice/" in frozen.get("/moderation/people/Alice/").content.decode()


def test_the_banner_says_until_when(frozen, store):
    assert "It ends on 2 October 2096." in frozen.get("/").content.decode()
    Sanctions(store).impose(BOB, State.FROZEN, "insults")
    assert "It lasts until the moderators end it." in frozen.get("/").content.decode()


def test_a_long_reason_is_whole_on_the_page_of_the_appeal_and_begins_in_the_banner_of_all_others(frozen, store):
    """Whole, it filled the screen of a phone above every page."""
    reason = f"{'It was <spam>. ' * 30}The end."
    Sanctions(store).impose(BOB, State.FROZEN, reason)
    banner = re.search(r'<aside class="banner".*?</aside>', page_of(frozen.get("/")), re.S)[0]
    assert f'<q dir="auto">{"It was &lt;spam&gt;. " * 8}' in banner
    assert "…</q>" in banner
    assert len(unescape(banner)) < 700
    page = page_of(frozen.get("/appeal/"))
    assert "The end.</q>" in page
    assert 'class="banner"' not in page


def test_nobody_else_has_a_banner(frozen, browser, alice):
    for client in (browser(), browser(alice)):
        assert 'class="banner"' not in client.get("/timeline/").content.decode()


def test_a_frozen_user_logs_in_and_out(frozen, browser):
    client = browser()
    assert client.post("/login/", {"username": "bob", "password": PASSWORD}).status_code == 302
    assert client.post("/logout/").status_code == 302


def test_a_frozen_user_changes_the_password_and_deletes_the_account(frozen, raw):
    form = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert frozen.post("/settings/password/", form).status_code == 302
    assert frozen.post("/settings/delete/", {"password": NEW_PASSWORD}).status_code == 302
    assert raw.hget("user:2", "deleted") is not None


def test_once_it_is_lifted_everything_is_allowed_again(frozen, store):
    Sanctions(store).lift(BOB)
    assert frozen.post("/@Alice/follow/").status_code == 302
    assert 'class="banner"' not in frozen.get("/").content.decode()


def test_only_these_addresses_are_open_to_a_frozen_user():
    patterns = get_resolver().url_patterns
    assert {pattern.name for pattern in patterns if getattr(pattern.callback, "open_to_frozen", False)} == OPEN


def test_a_refusal_costs_no_round_trip_more(frozen, round_trips):
    frozen.get("/timeline/")  # the uid of the cookie is cached
    assert len(round_trips(lambda: frozen.post("/@Alice/follow/")).round_trips) == 1


# ---- The appeal: of a frozen or hidden user, and of a suspended one, who has no session.


@pytest.fixture
def site(store, raw, alice, bob, carol):
    publish(raw, store, bob, "Post of bob")
    return raw


def log_in(client):
    return client.post("/login/", {"username": "bob", "password": PASSWORD})


def test_for_a_user_without_a_sanction_there_is_nothing_to_appeal(site, browser, bob):
    assert "There are no restrictions on your account." in browser(bob).get("/appeal/").content.decode()
    assert browser(bob).post("/appeal/", {"text": "Why?"}).status_code == 422


@pytest.mark.parametrize("state", [State.FROZEN, State.HIDDEN])
def test_a_sanctioned_user_appeals_once_and_sees_the_answer(site, store, browser, bob, state):
    Sanctions(store).impose(BOB, state, "insults")
    client = browser(bob)
    assert 'action="/appeal/"' in client.get("/appeal/").content.decode()
    assert client.post("/appeal/", {"text": ""}).status_code == 422
    assert client.post("/appeal/", {"text": "x" * 1001}).status_code == 422
    assert client.post("/appeal/", {"text": "I am <i>sorry</i>."}).status_code == 302
    page = client.get("/appeal/").content.decode()
    assert "I am &lt;i&gt;sorry&lt;/i&gt;." in page
    assert "A moderator will decide." in page
    assert 'name="text"' not in page
    assert "You have appealed already." in page_of(client.post("/appeal/", {"text": "Again"}), 422)
    Sanctions(store).decide_appeal(BOB, False, ALICE, "not enough")
    page = client.get("/appeal/").content.decode()
    assert "Your appeal was refused." in page
    assert "not enough" in page
    answer = Sanctions(store).standing(BOB).answer
    assert f'<time datetime="{iso(answer.when)}">' in page


def test_an_appeal_against_one_sanction_is_not_sent_against_another(site, store, browser, bob, raw):
    """It can be sent once, and its text answers a reason that counts no more."""
    client = browser(bob)
    Sanctions(store).impose(BOB, State.FROZEN, "Spam")
    fields = dict(re.findall(r'name="(imposed)" value="([^"]*)"', page_of(client.get("/appeal/"))))
    Sanctions(store).impose(BOB, State.HIDDEN, "Threats")
    page = page_of(client.post("/appeal/", {**fields, "text": "I sell nothing."}), 422)
    assert "The restriction on your account has changed. Read it, and send your appeal again." in page
    assert all(told in page for told in ("Threats", "I sell nothing."))
    assert open_appeals(store)[0] == []
    fields = dict(re.findall(r'name="(imposed)" value="([^"]*)"', page))
    assert client.post("/appeal/", {**fields, "text": "I threaten nobody."}).status_code == 302
    assert [appeal.text for appeal in open_appeals(store)[0]] == ["I threaten nobody."]


@pytest.mark.parametrize("rest", ['"at": "yesterday"', '"at": true', '"at": -1', '"written": 7'])
def test_what_is_no_appeal_is_skipped_and_logged_without_its_text(frozen, raw, caplog, rest):
    raw.hset("user:2", "appeal", f'{{"act": "{raw.hget("user:2", "state_act")}", "text": "It was me", {rest}}}')
    assert "It was me" not in frozen.get("/appeal/").content.decode()
    assert "user:2 has a bad value, which is skipped: 'an appeal'" in caplog.text
    assert "It was me" not in caplog.text
    assert frozen.post("/appeal/", {"text": "It was a joke"}).status_code == 302
    assert "It was a joke" in raw.hget("user:2", "appeal")


def test_a_suspended_user_whose_appeal_was_refused_reads_what_still_saves_the_account(site, store, client):
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    assert "unless this is lifted or you have appealed." in page_of(log_in(client), 403)
    Sanctions(store).appeal(BOB, "It was a quotation.")
    page = page_of(log_in(client), 403)
    assert "The account is not deleted before your appeal is decided." in page
    assert "you have appealed" not in page
    Sanctions(store).decide_appeal(BOB, False, ALICE, "not enough")
    assert "deleted permanently, unless this is lifted.</p>" in page_of(log_in(client), 403)


def test_a_user_whose_appeal_was_granted_reads_so_and_why(site, store, browser, bob):
    client = browser(bob)
    Sanctions(store).impose(BOB, State.FROZEN, "insults")
    Sanctions(store).appeal(BOB, "It was a quotation.")
    Sanctions(store).decide_appeal(BOB, True, ALICE, "That is <so>.")
    page = client.get("/appeal/").content.decode()
    assert 'href="/appeal/"' not in client.get("/").content.decode()  # the banner with the link has gone
    assert 'href="/appeal/"' in client.get("/settings/").content.decode()
    assert "There are no restrictions on your account." in page
    assert "Your last appeal was granted." in page
    assert "That is &lt;so&gt;." in page
    Sanctions(store).impose(BOB, State.FROZEN, "insults again")
    assert "granted" not in client.get("/appeal/").content.decode()


@pytest.mark.parametrize("appeals", [False, True])
def test_a_user_reads_that_a_sanction_was_lifted_and_why(site, store, browser, bob, appeals):
    client = browser(bob)
    Sanctions(store).impose(BOB, State.FROZEN, "insults")
    if appeals:
        Sanctions(store).appeal(BOB, "It was a quotation.")
    Sanctions(store).lift(BOB, ALICE, "A mistake of <ours>.")
    page = client.get("/appeal/").content.decode()
    assert "There are no restrictions on your account." in page
    assert "The moderators have lifted the last one." in page
    assert "A mistake of &lt;ours&gt;." in page
    assert f'<time datetime="{iso(Log(store).about(BOB)[0].when)}">' in page
    Sanctions(store).impose(BOB, State.FROZEN, "insults again", until=1)  # it has ended by itself
    after = page_of(client.get("/appeal/"))
    assert "There are no restrictions on your account.</p>" in after
    assert not any(word in after for word in ("mistake", "granted"))


def test_a_user_whose_appeal_was_refused_never_reads_that_it_was_granted(site, store, browser, bob):
    client = browser(bob)
    Sanctions(store).impose(BOB, State.FROZEN, "insults")
    Sanctions(store).appeal(BOB, "It was a quotation.")
    Sanctions(store).decide_appeal(BOB, False, ALICE, "not enough")
    Sanctions(store).lift(BOB, ALICE)
    page = client.get("/appeal/").content.decode()
    assert "There are no restrictions on your account." in page
    assert "appeal was" not in page


def test_a_suspended_user_sees_the_reason_after_the_right_password_and_nothing_else(site, store, client):
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    before = everything(site)
    answer = log_in(client)
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "Your account is suspended" in page
    assert "spam" in page
    assert settings.AUTH_COOKIE not in answer.cookies
    assert "no-store" in answer["Cache-Control"]
    after = everything(site)
    assert {key for key in after if not key.startswith("throttle:")} == {*before}
    assert "suspended" not in page_of(client.post("/login/", {"username": "bob", "password": "wrong"}), 422)


@pytest.mark.parametrize("failing", range(6))
def test_when_the_store_fails_the_login_of_a_suspended_user_is_a_503(site, store, browser, failing):
    """The last round trip of seven is for the site's words. A page is shown without them."""
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    made = count()

    def fail():
        if next(made) == failing:
            raise redis.ConnectionError("Connection refused")

    with failing_store(fail):
        answer = log_in(browser())
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0


def test_a_suspended_user_appeals_without_a_session(site, store, client):
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    token = log_in(client).content.decode().split('name="token" value="')[1].split('"')[0]
    assert "A moderator will decide." in page_of(client.post("/appeal/", {"text": "It was not me.", "token": token}))
    [appeal] = open_appeals(store)[0]
    assert (appeal.uid, appeal.text) == (BOB, "It was not me.")
    assert settings.AUTH_COOKIE not in client.cookies


def test_a_token_is_for_one_person_and_one_hour(site, store, browser, monkeypatch):
    assert uid_of(token_of(BOB)) == BOB
    assert uid_of(token_of(BOB) + "x") is None
    assert uid_of("2") is None
    monkeypatch.setattr("accounts.community.views.TOKEN_LIVES", -1)
    assert TOKEN_LIVES == 3600
    assert uid_of(token_of(BOB)) is None
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    assert browser().post("/appeal/", {"text": "Why?", "token": token_of(BOB)}).status_code == 403


def test_the_pages_of_a_suspended_user_are_gone_and_say_why_until_it_is_lifted(site, store, member):
    addresses = ("/@bob/", "/@bob/1/")
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    answers = [member.get(address) for address in addresses]
    assert [answer.status_code for answer in answers] == [410, 410]
    assert "This account is suspended." in answers[0].content.decode()
    assert all("<h1>Suspended</h1>" in answer.content.decode() for answer in answers)
    Sanctions(store).lift(BOB)
    assert [member.get(address).status_code for address in addresses] == [200, 200]
