"""Bad input gets a clear answer: no 500, no lost text, no unescaped echo."""

import io
import logging
import re
from email import message
from urllib import parse

import pytest

from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from tests.support.stored_keys import everything
from tests.support.stored_posts import write_posts, write_tag

HOSTILE = "<script>alert('x')</script>\"&"
POST_ONLY = [
    "/post/",
    "/logout/",
    "/@Alice/follow/",
    "/@Alice/unfollow/",
    "/@Alice/1/delete/",
    "/@Alice/1/pin/",
    "/@Alice/1/unpin/",
]
SETTINGS = ["/settings/", "/settings/delete/", "/settings/appearance/", "/settings/language/"]
PAGES = ["/timeline/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/@Alice/following/", "/livez", "/readyz"]
PAGES += ["/new/?after=1", "/robots.txt", "/sitemap.xml", "/sitemap-pages.xml", "/sitemap-people.xml"]
PAGES += ["/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"]


@pytest.mark.parametrize("url", POST_ONLY)
@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_an_address_that_changes_data_takes_only_post(browser, alice, raw, url, method):
    write_posts(raw, 1, [1])
    response = getattr(browser(alice), method)(url)
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    if method != "head":
        assert "This is not a page" in response.content.decode()
    assert raw.hget("user:1", "auth") == alice.secret


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "NONSENSE"])
def test_other_methods_are_refused_everywhere_before_the_csrf_check(browser, alice, method):
    for url, allowed in {"/": "GET, HEAD", "/post/": "POST", "/login/": "GET, HEAD, POST"}.items():
        response = browser(alice, csrf=True).generic(method, url)
        assert response.status_code == 405
        assert response["Allow"] == allowed
    assert browser(csrf=True).generic(method, "/nothing/").status_code == 404


def test_a_body_shorter_than_its_content_length_is_not_posted(member, raw):
    body = b"body=half+of+a+post&token=t"
    length = {"CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/x-www-form-urlencoded"}
    response = member.request(
        REQUEST_METHOD="POST", PATH_INFO="/post/", **length, **{"wsgi.input": io.BytesIO(body[:9])}
    )
    assert response.status_code == 400
    assert "Incomplete form" in response.content.decode()
    assert not raw.exists("next_post_id")


@pytest.mark.parametrize("length", ["-1", "+5", "x", "9" * 5000, "1e3", ""])
def test_an_invalid_length_gets_an_answer(browser, alice, length):
    for address in ("/post/", "/api/v1/apps"):
        assert browser(alice).post(address, {"body": "x"}, CONTENT_LENGTH=length).status_code < 500


@pytest.mark.parametrize("url", PAGES)
def test_a_page_refuses_post(browser, alice, raw, url):
    write_posts(raw, 1, [1])
    for client in (browser(alice), browser()):
        answer = client.post(url)
        assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("url", [*POST_ONLY, "/login/", "/register/", *SETTINGS])
def test_without_a_csrf_token_nothing_is_done(browser, alice, raw, url):
    write_posts(raw, 1, [1])
    before = everything(raw)
    response = browser(alice, csrf=True).post(
        url,
        {"body": f"typed {HOSTILE}", "username": "kept", "password": "secret!"},
        headers={"origin": "http://testserver"},
    )
    page = response.content.decode()
    assert response.status_code == 403
    assert "Please send the form again" in page
    assert ("typed &lt;script&gt;" in page) == (url == "/post/")
    assert ('value="kept"' in page) == (url in {"/post/", "/login/", "/register/"})
    assert ("csrfmiddlewaretoken" in page) == (url in {"/post/", "/login/", "/register/"})
    assert "secret!" not in page
    assert everything(raw) == before


@pytest.mark.parametrize("sender", [{"origin": "http://testserver"}, {"referer": "http://testserver/compose/"}])
def test_the_form_on_the_csrf_page_can_be_sent_again(browser, alice, raw, sender):
    client = browser(alice, csrf=True)
    page = client.post("/post/", {"body": "typed text", "token": "t1"}, headers=sender).content.decode()
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    assert fields["token"] == "t1"
    assert re.search(r">\s*typed text</textarea>", page)
    assert client.post("/post/", {**fields, "body": "typed text"}).status_code == 302
    assert raw.hget("post:1", "body") == "typed text"


@pytest.mark.parametrize(
    "sender",
    [
        *({"origin": origin} for origin in ("https://evil.example", "null", "http://testserver.evil.example")),
        {"referer": "https://evil.example/http://testserver/"},
        {"referer": "http://testserver.evil.example/"},
        {},
    ],
)
def test_a_form_from_another_site_is_shown_without_a_button_that_posts_it(browser, alice, raw, sender):
    page = page_of(browser(alice, csrf=True).post("/post/", {"body": "not mine"}, headers=sender), 403)
    assert "not mine</textarea>" in page
    assert "readonly" in page
    assert page.count("<form") == page.count('<form class="search"')


BAD_CURSORS = ["", "0", "-1", "x", "1.5", "9" * 40, "9007199254740992", "١٢", "1 ", "+1", "0x10", "\0", "1e3", "\ud800"]


@pytest.mark.parametrize("cursor", BAD_CURSORS)
@pytest.mark.parametrize("url", ["/", "/timeline/", "/@Alice/", "/@Alice/followers/", "/@Alice/following/"])
def test_a_bad_cursor_is_a_400_page(browser, alice, url, cursor):
    encoded = "".join(f"%{byte:02X}" for byte in cursor.encode("utf-8", "surrogatepass"))
    assert "Invalid address" in page_of(browser(alice).get(f"{url}?before={encoded}"), 400)


CURSORS_OF_PEOPLE = ("1-", "-1", "1-x", "x-1", "1--1", "1-2-3", "9" * 30 + "-1", "1.5-1")
FILTERS = ("show=all", "show=Mutual", "show=x", "show=mutual ", "show=%00", "show=not_followed_back")
WRONG_QUERIES = {
    "/people/?": ("before=", "before=x", "before=-1", "before=5", "by=x", "by=Followers", "before=²-a"),
    "/people/?by=followers&": ("before=5-x", "before=x-5", "before=5-", "before=-5"),
    "/@Alice/followers/?": (*FILTERS, *(f"before={cursor}" for cursor in CURSORS_OF_PEOPLE)),
    "/@Alice/following/?": FILTERS,
    "/search/?q=tea&": ("before=x", "before=0", "in=x"),
    "/tags/used/?": ("before=0", "before=x", "before=-1", "before="),
}
OF_USERS = {
    "/new/?": ("", "after=", "after=x", "after=0", "after=-1"),
    "/notifications/?": ("before=x", "only=likes", "read=x", "before=5-like:1"),
}


@pytest.mark.parametrize("page", [*WRONG_QUERIES, *OF_USERS])
def test_a_query_that_a_page_does_not_know_is_a_400(browser, alice, raw, page):
    write_tag(raw, "used", [])
    for query in (WRONG_QUERIES | OF_USERS)[page]:
        assert browser(alice).get(page + query).status_code == 400, query
        assert page in OF_USERS or browser().get(page + query).status_code == 400, query


@pytest.mark.parametrize("cursor", ["1", "9007199254740991"])
def test_a_cursor_below_or_above_everything_is_a_page(browser, alice, raw, cursor):
    write_posts(raw, 1, [1, 2])
    for url in ("/", "/timeline/", "/@Alice/"):
        assert browser(alice).get(f"{url}?before={cursor}").status_code == 200


@pytest.mark.parametrize("pid", ["0", "-1", "x", "9" * 40, "1.0", "%00", "%D9%A1", "1%0A"])
def test_an_impossible_id_is_not_found(browser, alice, raw, pid):
    write_posts(raw, 1, [1])
    assert browser().get(f"/@Alice/{pid}/").status_code == 404
    assert browser(alice).post(f"/@Alice/{pid}/delete/").status_code == 404


@pytest.mark.parametrize("name", ["nobody", "%00", "%ED%A0%80", "%FF%FE", "a" * 3000, "%0A", "..%2F..", "%3Cscript%3E"])
def test_an_unknown_username_is_not_found(browser, name):
    assert "<script>" not in page_of(browser().get(f"/@{name}/"), 404)


def post_body(client, url, body, content_type="application/x-www-form-urlencoded"):
    return client.generic("POST", url, body, content_type=content_type)


@pytest.mark.parametrize(
    "body",
    [
        b"body=%ED%A0%80+lone+surrogate",
        b"body=%FF%FE+no+utf-8",
        b"body=\xff\xfe",
        b"body=%00&token=%00",
        b"body=x&token=" + b"t" * 1000,
        b"body=x&token=%3Cscript%3E",
        b"%%%",
        b"&&&===",
        b"body",
        b"",
    ],
)
@pytest.mark.parametrize("url", ["/post/", "/login/", "/register/"])
def test_broken_bodies_get_an_answer(browser, alice, url, body):
    response = post_body(browser(alice), url, body)
    assert response.status_code in {302, 422}
    assert "<script>alert" not in response.content.decode()


def test_a_broken_multipart_body_gets_an_answer(browser, alice):
    content_types = [
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/json",
        "text/plain",
        "nonsense",
    ]
    for content_type in content_types:
        response = post_body(browser(alice), "/post/", b"--x\r\nbroken", content_type)
        assert response.status_code in {302, 400, 422}, content_type


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize(
    ("method", "address"), [("POST", "/login/"), ("POST", "/post/"), ("POST", "/api/v1/apps"), ("PUT", "/api/v1/apps")]
)
def test_the_head_of_a_part_with_hundreds_of_parameters_is_not_parsed(
    client, raw, monkeypatch, method, address, missing
):
    """Python takes as many steps as their number squared: a form of 1 MB stopped a worker for two seconds."""
    real, parsed = message._parseparam, [0]
    monkeypatch.setattr(message, "_parseparam", lambda text: parsed.append(text.count(";")) or real(text))
    part = f'--x\r\nContent-Disposition: form-data; name="a"; y="{";" * 900}\r\n\r\n\r\n'
    body, kind = f"{part * 3}--x--\r\n".encode(), "multipart/form-data; boundary=x"
    cut = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body) + missing)}
    answer = client.generic(method, address, body, kind, **cut)
    assert answer.status_code == 400
    assert max(parsed) < 40


@pytest.mark.parametrize("kind", ["form-data", "mixed"])
@pytest.mark.parametrize("missing", [0, 1])
def test_no_part_with_hundreds_of_parameters_hides_behind_many_without_a_name(client, raw, monkeypatch, kind, missing):
    """Django counts neither these parts nor those of other kinds."""
    real, parsed = message._parseparam, [0]
    monkeypatch.setattr(message, "_parseparam", lambda text: parsed.append(text.count(";")) or real(text))
    nameless = '--x\r\nContent-Disposition: form-data; filename="a"\r\n\r\n\r\n'
    crowded = f'--x\r\nContent-Disposition: form-data; filename="a"; y="{";" * 900}\r\n\r\n\r\n'
    body = f"{nameless * 1250}{crowded * 3}--x--\r\n".encode()
    cut = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body) + missing)}
    client.generic("POST", "/login/", body, f"multipart/{kind}; boundary=x", **cut)
    assert max(parsed) < 40


@pytest.mark.parametrize(
    ("method", "address"), [("POST", "/login/"), ("POST", "/api/v1/apps"), ("PUT", "/api/v1/apps")]
)
@pytest.mark.parametrize("sign", ["%", "%é", "%4x"])
def test_thousands_of_escapes_that_are_none_are_not_read(client, raw, monkeypatch, method, address, sign):
    """Each is an exception in Python: a form of 1 MB stopped a worker for a third of a second."""
    real, read = parse.unquote_to_bytes, []
    monkeypatch.setattr(parse, "unquote_to_bytes", lambda text: read.append(text.count("%")) or real(text))
    body, kind = f"client_name={sign * 5000}".encode(), "application/x-www-form-urlencoded"
    for missing in (0, 1):
        cut = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body) + missing)}
        assert client.generic(method, address, body, kind, **cut).status_code == 400
    assert sum(read) < 100


def test_a_type_that_only_begins_like_that_of_a_form_with_files_is_read_as_no_other_form(client, store, monkeypatch):
    """Its parts are counted, and not its escapes."""
    read = []
    monkeypatch.setattr(parse, "unquote_to_bytes", lambda text: read.append(text) or b"")
    for method in ("GET", "PUT"):
        answer = client.generic(method, "/api/v1/custom_emojis", b"a=" + b"%" * 5000, "multipart/mixed")
        assert answer.status_code == (400 if method == "GET" else 405)
    assert not any("%%" in text for text in read)


def test_a_client_may_write_percent_signs_as_they_are(member, raw):
    body = f"body={'100% ' * 50}&token=t".encode()
    assert member.post("/post/", body, content_type="application/x-www-form-urlencoded").status_code == 302
    assert raw.hget("post:1", "body") == ("100% " * 50).strip()


def test_a_name_of_a_file_may_have_semicolons(member, raw):
    name = "".join(f"a{number}; " for number in range(40))
    part = f'--x\r\nContent-Disposition: form-data; name="picture"; filename="{name}.jpg"\r\n\r\n\r\n'
    fields = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in {"body": "Hello", "token": "t"}.items()
    )
    answer = member.post("/post/", f"{fields}{part}--x--\r\n", content_type="multipart/form-data; boundary=x")
    assert "Hello</textarea>" in page_of(answer, 422)  # the form is read; its picture is empty


def test_ten_megabytes_are_answered_and_not_stored(browser, alice, raw):
    response = browser(alice).post("/post/", {"body": "x" * 10_000_000, "token": "t"})
    assert response.status_code == 413
    assert "Too large" in response.content.decode()
    response = post_body(browser(alice), "/post/", b"body=" + b"x" * 10_000_000)
    assert response.status_code == 413
    assert not raw.exists("next_post_id")


def test_a_file_of_ten_megabytes_is_refused_unread(browser, alice):
    content_type = "multipart/form-data; boundary=x"
    body = (
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + b"x" * 10_000_000 + b"\r\n--x--\r\n"
    )
    assert post_body(browser(alice), "/settings/language/", body, content_type).status_code == 413


def test_too_many_fields_are_a_400(browser, alice):
    body = "&".join(f"f{number}=1" for number in range(5000)).encode()
    assert post_body(browser(alice), "/post/", body).status_code == 400


def test_a_refused_text_of_half_a_megabyte_comes_back_complete(browser, alice):
    text = "lorem " * 80_000
    assert text.strip() in page_of(browser(alice).post("/post/", {"body": text, "token": "t"}), 422)


def test_html_in_every_field_is_escaped(browser, member, raw):
    write_posts(raw, 1, [1])
    raw.hset("post:1", "body", HOSTILE)
    raw.hset("user:9", mapping={"username": HOSTILE, "password": "x", "auth": "s"})
    raw.hset("users", HOSTILE, 9)
    raw.zadd("users_by_time", {HOSTILE: 2_000_000_000})
    raw.zadd("followers:1", {"9": 1})
    write_posts(raw, 9, [2])
    answers = [
        member.get("/"),
        member.get("/timeline/"),
        member.get("/@Alice/"),
        member.get("/@Alice/1/"),
        member.get("/@Alice/followers/"),
        member.get("/@%3Cscript%3Ealert('x')%3C%252Fscript%3E%22&/"),
        browser().post("/post/", {"body": HOSTILE, "token": "t"}, follow=True),
        member.post("/post/", {"body": HOSTILE * 20, "token": HOSTILE}),
        member.post(f"/@{HOSTILE.replace('/', '%2F')}/follow/", follow=True),
        browser().get("/login/", {"next": HOSTILE}),
        browser().post("/login/", {"username": HOSTILE, "password": HOSTILE, "next": HOSTILE}),
        browser().post("/register/", {"username": HOSTILE, "password1": HOSTILE, "password2": HOSTILE}),
        browser().get(f"/{HOSTILE}"),
    ]
    for response in answers:
        assert response.status_code < 500
        assert "<script>" not in response.content.decode(), response.request["PATH_INFO"]
    assert [answer.status_code for answer in answers[:7]] == [200] * 7


def test_a_very_long_password_is_not_hashed(browser, alice, monkeypatch):
    monkeypatch.setattr("accounts.signing_in.forms.authenticate", lambda *args, **kwargs: pytest.fail("hashed"))
    assert browser().post("/login/", {"username": "Alice", "password": "x" * 100_000}).status_code == 422


def test_a_foreign_host_is_a_400(browser):
    assert "Bad request" in page_of(browser().get("/", headers={"host": "evil.example"}), 400)


def test_a_head_request_is_answered_like_a_get(browser, alice, raw):
    write_posts(raw, 1, [1])
    for url in ("/", "/timeline/", "/@Alice/", "/@Alice/1/", "/login/", "/register/"):
        response = browser().head(url)
        assert response.status_code == 200
        assert response.content == b""


def test_an_address_without_its_last_slash_redirects_to_the_page(browser, alice):
    assert browser().get("/@Alice/followers")["Location"] == "/@Alice/followers/"
    assert browser().get("/timeline")["Location"] == "/timeline/"


def test_a_wrong_password_is_not_shown_again(browser, alice):
    page = browser().post("/login/", {"username": "Alice", "password": PASSWORD + "x"}).content.decode()
    assert PASSWORD not in page


def test_links_and_redirects_after_a_form_error_lead_to_existing_pages(browser, member, raw):
    write_posts(raw, 1, range(1, 26))
    assert 'href="/"' in member.post("/post/", {"body": "", "token": "t"}).content.decode()
    response = member.post("/@Alice/25/delete/", headers={"referer": "http://testserver/post/"})
    assert response["Location"] == "/"
    response = browser().post("/@Alice/24/delete/", headers={"referer": "http://testserver/post/"})
    assert response["Location"] == "/login/?next=%2F"


@pytest.mark.parametrize(
    "referer", ["http://testserver//evil.example/", "http://evil.example/@Alice/", "http://[/", "null", "x", ""]
)
def test_a_referer_of_another_site_redirects_home(browser, alice, raw, referer):
    write_posts(raw, 1, [1])
    assert browser(alice).post("/@Alice/1/delete/", headers={"referer": referer})["Location"] == "/"


def test_an_invalid_request_is_one_line_in_the_log_without_a_traceback(browser, alice, capfd):
    handler = next(h for h in logging.getLogger("django.security").handlers)
    stream = io.StringIO()
    previous = handler.setStream(stream)
    try:
        browser().get("/", headers={"host": "evil.example"})
        post_body(browser(alice), "/post/", "&".join(f"f{n}=1" for n in range(5000)).encode())
    finally:
        handler.setStream(previous)
    assert len(stream.getvalue().splitlines()) == 2
    assert "Traceback" not in stream.getvalue()
