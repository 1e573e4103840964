"""The composer: where it stands, texts that wait for their author, forms that were made for another user, replies and
quotes."""

import html
import re

import pytest

from accounts.users.accounts import AccountDeletion
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts, write_tag
from timeline.relations.relations import BlockedPeople, Mutes

COMPOSER = re.compile(r'<form class="panel composer"')


WRITES_TO = re.compile(
    r'<form class="panel composer begun"[^>]* data-draft="1:::([^"]*)".*?<label for="id_body">(.*?)</label>\s*'
    r"<textarea[^>]*>([^<]*)</textarea>",
    re.DOTALL,
)


@pytest.mark.parametrize("address", ["/", "/timeline/", "/@alice/", "/compose/", "/@alice/1/quotes/"])
def test_members_have_a_composer_and_visitors_have_none(browser, raw, alice, bob, address):
    write_posts(raw, 1, [1])
    assert len(COMPOSER.findall(browser(alice).get(address).content.decode())) == 1
    assert not COMPOSER.search(browser().get(address).content.decode())


@pytest.mark.parametrize(
    ("address", "begins", "says"),
    [
        ("/@bob/", "@bob", "Write to <bdi>@bob</bdi>"),
        ("/@bob/?before=5", "@bob", "Write to <bdi>@bob</bdi>"),
        ("/@bob/replies/", "@bob", "Write to <bdi>@bob</bdi>"),
        ("/tags/redis/", "#redis", "Write with <bdi>#redis</bdi>"),
    ],
)
def test_beside_the_posts_of_another_and_of_a_tag_the_text_is_begun_and_says_so(
    browser, raw, alice, bob, address, begins, says
):
    write_posts(raw, 1, [1])
    write_tag(raw, "redis", [1])
    assert WRITES_TO.findall(browser(alice).get(address).content.decode()) == [(begins, says, f"{begins} ")]
    assert 'class="panel composer' not in browser().get(address).content.decode()


@pytest.mark.parametrize(
    "hide", [lambda store: BlockedPeople(store).block(1, 2), lambda store: Mutes(store).mute(1, 2)]
)
def test_nothing_is_written_to_a_person_whom_one_blocks_or_mutes(browser, store, alice, bob, hide):
    hide(store)
    assert 'class="panel composer' not in browser(alice).get("/@bob/").content.decode()


@pytest.mark.parametrize("address", ["/tags/", "/likes/", "/bookmarks/", "/explore/"])
def test_lists_that_nobody_writes_for_have_the_button_alone(browser, alice, address):
    page = browser(alice).get(address).content.decode()
    assert 'class="panel composer' not in page
    assert 'class="to-compose" href="/compose/"' in page


def test_the_composer_beside_quotes_quotes_the_post_and_says_so(browser, raw, alice):
    write_posts(raw, 1, [1])
    page = browser(alice).get("/@alice/1/quotes/").content.decode()
    assert '<input type="hidden" name="quote" value="1">' in page
    assert ">Your quote</label>" in page


@pytest.mark.parametrize(
    ("page", "after"),
    [
        ("/", "/"),
        ("/timeline/", "/timeline/"),
        ("/timeline/?before=7", "/timeline/?before=7"),
        ("/@bob/", "/@bob/"),
        ("/compose/", "/"),
        ("/post/", "/"),
    ],
)
def test_a_post_leads_back_to_the_page_of_its_form(member, bob, raw, page, after):
    referer = {"referer": f"http://testserver{page}"}
    answer = member.post("/post/", {"body": "Hello", "token": "t"}, headers=referer)
    assert (answer.status_code, answer["Location"]) == (302, after)
    assert "Posted." in member.get("/timeline/").content.decode()
    assert raw.hget("post:1", "body") == "Hello"


# ---- A text that could not be posted waits for its author, and for nobody else.


KEPT = "Your post is kept. Log in to send it."


def in_composer(page):
    """The text of each composer on a page."""
    return re.findall(r'<textarea name="body"[^>]*>\n(.*?)</textarea>', page.content.decode(), re.DOTALL)


def log_in(client, name):
    return client.post("/login/", {"username": name, "password": PASSWORD, "next": "/"}, follow=True)


def test_a_text_of_alice_is_in_no_composer_of_bob_and_waits_for_her(browser, alice, bob):
    client = browser()  # her session has ended; her page is still open
    client.post("/post/", {"body": "Of alice", "token": "t", "as": "1"})
    assert in_composer(log_in(client, "bob")) == [""]
    assert in_composer(client.get("/timeline/")) == [""]
    assert in_composer(log_in(client, "alice")) == ["Of alice"]


def test_a_text_of_nobody_belongs_to_the_user_who_logs_in_next(client, alice, bob):
    client.post("/post/", {"body": "Of nobody", "token": "t"})
    assert in_composer(log_in(client, "alice")) == ["Of nobody"]
    client.cookies["auth"] = bob.secret  # her session has ended elsewhere, and bob logs in
    assert in_composer(client.get("/")) == [""]
    client.cookies["auth"] = alice.secret
    assert in_composer(client.get("/")) == ["Of nobody"]


def test_a_registration_takes_a_text_of_nobody(browser):
    client = browser()
    client.post("/post/", {"body": "My first post", "token": "t"})
    form = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/register/", form)
    assert in_composer(client.get("/")) == ["My first post"]


@pytest.mark.parametrize("address", ["/login/", "/register/"])
def test_the_login_page_says_that_a_draft_is_safe(browser, address):
    client = browser()
    assert KEPT not in client.get(address).content.decode()
    client.post("/post/", {"body": "Hello", "token": "t"})
    assert KEPT in client.get(address).content.decode()
    assert KEPT in client.post(address, {"username": "x"}).content.decode()  # still, after an error


@pytest.mark.parametrize("address", ["/", "/timeline/", "/@alice/", "/@bob/", "/compose/"])
def test_a_draft_is_in_each_composer(client, alice, bob, address):
    client.post("/post/", {"body": "Hello", "token": "t", "as": "1"})
    client.cookies["auth"] = alice.secret
    page = client.get(address)
    assert in_composer(page) == ["Hello"]
    assert 'formaction="/compose/discard/">Discard' in page.content.decode()


def test_a_draft_can_be_discarded_without_a_script(client, alice):
    client.post("/post/", {"body": "Hello", "token": "t", "as": "1"})
    client.cookies["auth"] = alice.secret
    page = client.post(
        "/compose/discard/", {"body": "Hello", "as": "1"}, headers={"referer": "http://testserver/timeline/"}
    )
    assert page["Location"] == "/timeline/"
    page = client.get("/timeline/")
    assert "Discarded." in page.content.decode()
    assert in_composer(page) == [""]
    assert 'formaction="/compose/discard/" hidden>' in page.content.decode()


@pytest.mark.parametrize("address", ["/post/", "/compose/discard/"])
def test_a_reply_waits_while_its_author_posts_or_discards_something_else(client, alice, bob, raw, store, address):
    publish(raw, store, bob, "Question")
    client.post("/post/", {"body": "Answer", "token": "t", "as": "1", "reply_to": "1"})
    client.cookies["auth"] = alice.secret
    client.post(address, {"body": "Something else", "token": "u", "as": "1"})
    assert in_composer(client.get("/@bob/1/")) == ["Answer"]
    client.post(address, {"body": "Answer", "token": "v", "as": "1", "reply_to": "1"})
    assert in_composer(client.get("/@bob/1/")) == [""]


@pytest.mark.parametrize("address", ["/post/", "/compose/discard/"])
def test_a_text_of_alice_waits_while_bob_posts_or_discards(client, alice, bob, address):
    client.post("/post/", {"body": "Of alice", "token": "t", "as": "1"})
    client.cookies["auth"] = bob.secret
    client.post(address, {"body": "Of bob", "token": "u", "as": "2"})
    client.cookies["auth"] = alice.secret
    assert in_composer(client.get("/")) == ["Of alice"]


def test_a_logout_of_anyone_leaves_no_draft_in_the_browser(client, alice, bob):
    client.post("/post/", {"body": "Of alice", "token": "t", "as": "1"})
    log_in(client, "bob")
    client.post("/logout/")
    assert client.cookies["draft"].value == ""


def test_line_breaks_survive_a_login(client, alice):
    client.post("/post/", {"body": "one\r\ntwo", "token": "t"})
    assert in_composer(log_in(client, "alice")) == ["one\ntwo"]


@pytest.mark.parametrize(
    "cookie",
    [
        *("1", "1...", "...SGk=", "0...SGk=", "x...SGk=", "01...SGk=", "1...!", "SGk=", "1.SGk="),
        *("", "!", "a", "AAAA", "/+8=", "x" * 5000, "\\", "ä"),
    ],
)
def test_an_invalid_draft_cookie_is_no_draft(member, cookie):
    member.cookies["draft"] = cookie
    page = member.get("/")
    assert page.status_code == 200
    assert in_composer(page) == [""]


# ---- A form that was made for one user and sent while another is signed in asks before it posts.


def fields_of(page):
    """The hidden fields of the form on a page, without the CSRF token of the header's forms."""
    found = re.findall(r'<input type="hidden" name="(as|token|csrfmiddlewaretoken)" value="([^"]*)"', page)
    return dict(found)


def test_a_form_of_alice_sent_by_bob_asks(browser, alice, bob, raw):
    page = page_of(browser(bob).post("/post/", {"body": "Of <alice>\nor bob?", "token": "t1", "as": "1"}), 409)
    assert "This form was written as <bdi>@Alice</bdi>. You are logged in as <bdi>@bob</bdi>." in page
    assert "Of &lt;alice&gt;\nor bob?</textarea>" in page
    assert not raw.exists("next_post_id")
    assert 'formaction="/compose/discard/"' in page


def test_bob_can_post_it_as_bob(browser, alice, bob, raw):
    client = browser(bob)
    page = client.post("/post/", {"body": "Anyone's", "token": "t1", "as": "1"}).content.decode()
    fields = fields_of(page)
    assert fields["as"] == "2"
    assert client.post("/post/", {"body": "Anyone's", **fields}).status_code == 302
    assert raw.hget("post:1", "user_id") == "2"


def test_the_authors_own_form_posts_at_once(member, raw):
    fields = fields_of(member.get("/").content.decode())
    assert fields["as"] == "1"
    assert member.post("/post/", {"body": "Mine", **fields}).status_code == 302
    assert raw.hget("post:1", "user_id") == "1"


@pytest.mark.parametrize("named", ["", "0", "x", "-1", "9" * 30])
def test_a_form_that_names_no_user_posts_at_once(browser, alice, raw, named):
    assert browser(alice).post("/post/", {"body": "Mine", "token": "t", "as": named}).status_code == 302
    assert raw.hget("post:1", "user_id") == "1"


def test_the_author_may_have_no_account_any_more(browser, store, alice, bob):
    AccountDeletion(store).delete(alice.user, alice.secret)
    page = browser(bob).post("/post/", {"body": "Hello", "token": "t", "as": "1"}).content.decode()
    assert "This form was written with another account. You are logged in as <bdi>@bob</bdi>." in page


def test_a_login_in_another_tab_makes_the_form_stale_and_its_text_is_kept(browser, alice, bob, raw):
    """The CSRF token is a new one after the login. The error page sends the text with it, and then the site asks."""
    client = browser(csrf=True)
    token = fields_of(client.get("/login/").content.decode())["csrfmiddlewaretoken"]
    client.post("/login/", {"username": "alice", "password": PASSWORD, "csrfmiddlewaretoken": token})
    form = fields_of(client.get("/").content.decode())  # alice's tab
    client.cookies.pop("auth")
    token = fields_of(client.get("/login/").content.decode())["csrfmiddlewaretoken"]
    client.post("/login/", {"username": "bob", "password": PASSWORD, "csrfmiddlewaretoken": token})

    page = page_of(client.post("/post/", {**form, "body": "Of alice"}, headers={"origin": "http://testserver"}), 403)
    again = fields_of(page)
    assert (again["as"], again["token"]) == ("1", form["token"])
    assert "Of alice</textarea>" in html.unescape(page)
    assert client.post("/post/", {**again, "body": "Of alice"}).status_code == 409
    assert not raw.exists("next_post_id")


# ---- A post that answers or quotes another one is written below that one, and keeps both while it waits.


def named(page):
    return dict(re.findall(r'<input type="hidden" name="(reply_to|quote)" value="([^"]*)"', page))


@pytest.mark.parametrize("what", ["reply_to", "quote"])
def test_the_composer_stands_below_the_named_post(browser, alice, pid, what):
    page = browser(alice).get(f"/compose/?{what}={pid}").content.decode()
    assert page.index("Hello") < page.index("<textarea")
    assert named(page) == {what: str(pid)}


def test_the_composer_of_a_reply_says_so(browser, alice, pid):
    page = browser(alice).get(f"/compose/?reply_to={pid}").content.decode()
    assert '<label class="unseen" for="reply_body">Your reply</label>' in page
    assert 'id="reply_body"' in page
    assert re.search(r">Reply</button>", page)


@pytest.mark.parametrize("query", ["reply_to=99", "quote=99", "reply_to=x", "quote=", "reply_to=1&quote=99"])
def test_a_post_that_is_not_there_is_not_found(browser, alice, pid, query):
    assert browser(alice).get(f"/compose/?{query}").status_code == 404


def test_the_text_is_posted_with_what_it_names(browser, alice, pid, raw):
    form = {"body": "Yes", "token": "t", "reply_to": pid, "quote": pid}
    assert browser(alice).post("/post/", form).status_code == 302
    assert raw.hmget("post:2", "body", "reply_to", "quote") == ["Yes", "1", "1"]


@pytest.mark.parametrize(
    ("page", "after"),
    [
        ("/@bob/1/", "/@bob/1/#post-2"),
        ("/@bob/1/?after=7", "/@bob/1/#post-2"),
        ("/@bob/1", "/@bob/1#post-2"),
        ("/timeline/", "/@Alice/2/"),
        ("/compose/?reply_to=1", "/@Alice/2/"),
    ],
)
def test_a_reply_leads_to_the_thread(browser, alice, pid, page, after):
    form = {"body": "Yes", "token": "t", "reply_to": pid}
    answer = browser(alice).post("/post/", form, headers={"referer": f"http://testserver{page}"})
    assert answer["Location"] == after


def test_errors_come_back_below_the_named_post(browser, alice, pid):
    page = page_of(browser(alice).post("/post/", {"body": "", "token": "t", "reply_to": pid}), 422)
    assert page.index("Hello") < page.index("<textarea")
    assert named(page) == {"reply_to": str(pid)}


def test_a_reply_waits_for_its_author_with_the_post_that_it_answers(client, alice, pid, raw):
    answer = client.post("/post/", {"body": "Yes", "token": "t", "reply_to": pid, "as": "1"})
    assert answer["Location"] == "/login/?next=%2Fcompose%2F%3Freply_to%3D1"
    form = {"username": "alice", "password": PASSWORD, "next": "/compose/?reply_to=1"}
    page = client.post("/login/", form, follow=True).content.decode()
    assert "Yes</textarea>" in page
    assert named(page) == {"reply_to": "1"}
    assert "Yes</textarea>" not in client.get("/").content.decode()  # there it would be no reply


def test_a_reply_of_another_user_keeps_the_post_that_it_answers(browser, alice, bob, pid):
    page = browser(bob).post("/post/", {"body": "Yes", "token": "t", "reply_to": pid, "as": "1"}).content.decode()
    assert 'name="reply_to" value="1"' in page
