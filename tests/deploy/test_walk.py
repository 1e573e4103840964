"""A walk through the site that the files of deploy/ make: nginx with TLS, gunicorn or uWSGI, worker and store."""

import http.client
import json

import pytest

from retwis_site.http.security_headers import HEADERS
from tests.support.deploy.machine import HOST
from tests.support.http.http_browser import TIMEOUT
from tests.support.processes.processes import wait_until

PASSWORD = "correct horse battery"
HSTS = "Strict-Transport-Security"
ELSEWHERE = "203.0.113.9"  # where no client of these tests is
FORGED = {
    "X-Forwarded-For": ELSEWHERE,
    "X_Forwarded_For": ELSEWHERE,
    "X-Real-IP": ELSEWHERE,
    "Client-IP": ELSEWHERE,
    "Forwarded": f"for={ELSEWHERE};host=evil.example;proto=http",
    "X-Forwarded-Proto": "http",
    "X_Forwarded_Proto": "http",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "81",
    "Remote-Addr": ELSEWHERE,
    "Remote_User": "root",
}


@pytest.fixture(scope="module")
def alice(machine):
    """A browser in which alice has registered."""
    browser = machine.browser()
    status, page = browser.submit("/register/", username="alice", password1=PASSWORD, password2=PASSWORD)
    assert status == 200, page
    return browser


def exchange(machine, request, address="127.0.0.1"):
    """The answer to these bytes, once the server closes the connection; empty when it does so without an answer."""
    with machine.connected(address) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")


def plain(machine, host, path="/"):
    """The answer to a request without TLS."""
    connection = http.client.HTTPConnection("127.0.0.1", machine.http, timeout=TIMEOUT)
    connection.request("GET", path, headers={"Host": host, "X-Forwarded-Proto": "https"})
    return connection.getresponse()


def wrong_password(machine, browser, name):
    """Try to log in. Returns the keys of rate limits afterwards, without those of other tests."""
    machine.raw.delete(*machine.raw.keys("throttle:*"), "no key")
    status, page = browser.submit("/login/", username=name, password="wrong and long enough")
    assert status == 422, page
    return machine.raw.keys("throttle:*")


def test_what_a_user_posts_is_at_home_after_logging_in_again(machine, alice):
    alice.write("over TLS")
    again = machine.browser()
    status, page = again.submit("/login/", username="alice", password=PASSWORD)
    assert (status, "over TLS" in page) == (200, True)
    assert machine.raw.hget("post:1", "body") == "over TLS"
    assert machine.printed("web").count("Traceback") == 0, machine.printed("web")


def test_the_worker_finishes_jobs(machine, alice):
    alice.write("something to find")
    wait_until(lambda: machine.raw.zcard("outbox") == 0, "an empty outbox")
    wait_until(lambda: "something to <mark>find</mark>" in alice.open("/search/?q=find")[1], "the index")


def test_the_worker_serves_what_the_web_processes_count(machine):
    for _ in range(5):
        assert machine.browser().open("/timeline/")[0] == 200
    wait_until(lambda: 'retwis_requests_total{status="200",view="timeline"} 5.0' in machine.scrape(), "all requests")


def test_cookies_are_of_this_host_alone(alice):
    assert alice.cookies() >= {"__Host-auth", "__Host-csrftoken"}
    assert [name for name in alice.cookies() if not name.startswith("__Host-")] == []


def test_a_download_is_sent_whole(alice):
    answer = alice.ask("/settings/download/")
    lines = [json.loads(line) for line in answer.page.splitlines()]
    assert (answer.status, lines[0]["type"]) == (200, "export")
    assert lines[-1] == {"type": "end", "lines": len(lines)}


def test_plain_http_leads_to_tls_and_nowhere_else(machine):
    answer = plain(machine, HOST, "/alice/?a=b")
    assert (answer.status, answer.headers["Location"]) == (301, f"https://{HOST}/alice/?a=b")
    with pytest.raises(http.client.RemoteDisconnected):
        plain(machine, "evil.example")


def test_other_hosts_are_refused(machine):
    assert exchange(machine, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n") == ""
    absolute = f"GET https://{HOST}/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    answer = exchange(machine, absolute)
    assert answer.startswith("HTTP/1.1 400")
    assert "evil.example" not in answer


def test_a_static_file_comes_from_nginx_with_the_headers_of_the_site(machine):
    browser = machine.browser()
    front = browser.ask("/")
    path = front.page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    style = browser.ask(path)
    assert style.status == 200
    for name in (*HEADERS, HSTS):
        assert style.headers[name] == front.headers[name] != "", name
    assert front.headers[HSTS].startswith("max-age=31536000")
    assert style.headers["Cache-Control"] == "max-age=315360000, public, immutable"
    assert style.headers["Content-Type"] == "text/css; charset=utf-8"
    machine.path("var/lib/retwis/static/added.txt").write_text("by nginx")  # the site looks only when it starts
    added = browser.ask("/static/added.txt")
    assert (added.page, added.headers["Cache-Control"]) == ("by nginx", "max-age=60, public")


def test_a_picture_of_the_site_is_an_image_for_browsers(machine):
    picture = machine.browser().ask("/static/mark.svg")
    assert picture.headers["Content-Type"] == "image/svg+xml; charset=utf-8"


@pytest.mark.parametrize("path", ["/static/../secret_key", "/static/%2e%2e/secret_key", "/static..%2fsecret_key"])
def test_nothing_beside_the_static_files_can_be_read(machine, path):
    secret = machine.path("var/lib/retwis/secret_key").read_text()
    answer = exchange(machine, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n")
    assert answer.startswith("HTTP/1.1 4")
    assert secret not in answer


def test_no_header_of_a_client_changes_its_address(machine, alice):
    honest = wrong_password(machine, machine.browser("127.0.0.7"), "alice")
    forged = wrong_password(machine, machine.browser("127.0.0.7", **FORGED), "alice")
    assert sorted(honest) == sorted(forged)
    assert [key for key in forged if key.endswith(":127.0.0.7")]
    assert [key for key in machine.raw.keys("*") if ELSEWHERE in key] == []
    assert wrong_password(machine, machine.browser("127.0.0.8"), "alice") != honest


def test_no_header_of_a_client_changes_the_host_or_the_scheme(machine):
    answer = machine.browser(**FORGED).ask("/login/?next=/")
    assert answer.status == 200
    assert "evil.example" not in answer.page + str(answer.headers)


def test_a_request_keeps_its_id_and_a_wrong_one_is_replaced(machine):
    assert machine.browser(**{"X-Request-ID": "from-a-client-1"}).ask("/").headers["X-Request-ID"] == "from-a-client-1"
    made = machine.browser(**{"X-Request-ID": "no id: <b>"}).ask("/").headers["X-Request-ID"]
    assert len(made) == 32
    log = machine.path("var/log/nginx/retwis.log")
    wait_until(lambda: f"id {made}\n" in log.read_text(), "the line of the request")  # nginx writes it after the answer


def test_the_answer_to_head_has_no_body_and_no_line_of_its_own(machine):
    answer = exchange(machine, f"HEAD /login/ HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200")
    assert answer.endswith("\r\n\r\n")
    assert "RFC 9110" not in machine.printed("web")


def test_the_log_of_nginx_has_no_addresses_of_pages(machine):
    machine.browser().ask("/reset/a-secret/?token=another")
    log = machine.path("var/log/nginx/retwis.log")
    wait_until(lambda: "GET 410" in log.read_text(), "the line of the request")  # nginx writes it after the answer
    log = log.read_text()
    assert "secret" not in log


def test_a_body_without_its_length_is_put_together_by_nginx(machine):
    """As some apps send it; without nginx it is a 411."""
    form = "client_name=Tusky&redirect_uris=urn:ietf:wg:oauth:2.0:oob"
    head = f"POST /api/v1/apps HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
    kind = "Content-Type: application/x-www-form-urlencoded"
    answer = exchange(machine, f"{head}{kind}\r\n\r\n{len(form):x}\r\n{form}\r\n0\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200"), answer
    assert '"name":"Tusky"' in answer


def test_a_form_over_the_limit_is_refused(machine):
    with machine.connected() as connection:
        connection.sendall(f"POST /login/ HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1048577\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_cookies_of_another_site_that_are_too_long_reach_the_site_which_has_them_deleted(machine):
    """nginx and gunicorn alone would refuse them from 8 KiB on, and each page, until somebody deletes them by hand."""
    cookies = "; ".join(f"other{number}={'x' * 3900}" for number in range(5))
    for sent, status in ((cookies[:12_000], 200), (cookies, 431)):
        answer = exchange(machine, f"GET / HTTP/1.1\r\nHost: {HOST}\r\nCookie: {sent}\r\nConnection: close\r\n\r\n")
        assert answer.startswith(f"HTTP/1.1 {status} ")
        assert ('Clear-Site-Data: "cookies"' in answer) is (status == 431)


def test_an_address_with_too_many_requests_is_refused_and_others_are_not(machine):
    requests = f"GET /livez HTTP/1.1\r\nHost: {HOST}\r\n\r\n" * 199
    last = f"GET /livez HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    answers = exchange(machine, requests + last, "127.0.0.6")
    assert answers.count("HTTP/1.1 200") >= 100  # a burst
    assert answers.count("HTTP/1.1 429") >= 20
    assert machine.browser("127.0.0.5").open("/livez") == (200, "ok\n")
