"""Error pages: one design, and no round trip to the store."""

import subprocess

import pytest

from tests.support.processes.fresh_process import in_a_process
from tests.support.stored_posts import write_posts

STYLESHEET = '<link rel="stylesheet" href="/static/retwis.css">'


@pytest.mark.parametrize(
    ("url", "status", "title"),
    [
        ("/nothing/here/", 404, "Page not found"),
        ("/@Alice/2/", 410, "Deleted"),
        ("/@Alice/3/", 404, "Page not found"),
        ("/?before=x", 400, "Invalid address"),
        ("/post/", 405, "This is not a page"),
    ],
)
def test_an_error_page_has_the_sites_design_its_status_and_a_link_home(browser, alice, raw, url, status, title):
    write_posts(raw, 1, [1, 2])
    raw.hset("post:2", mapping={"deleted": 5, "body": ""})
    response = browser(alice).get(url)
    page = response.content.decode()
    assert response.status_code == status
    assert STYLESHEET in page
    assert f"<h1>{title}</h1>" in page
    assert f"Error {status}" in page
    assert 'href="/"' in page
    assert response["Content-Type"] == "text/html; charset=utf-8"


def test_a_broken_view_gives_the_500_page_and_a_line_in_the_log(failing, caplog):
    response = failing(ZeroDivisionError())
    assert response.status_code == 500
    assert STYLESHEET in response.content.decode()
    assert "Something went wrong" in response.content.decode()
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("url", ["/nothing/here/", "/post/", "/?before=x", "/timeline/?before=0"])
def test_an_error_page_makes_no_round_trip(browser, alice, round_trips, url):
    assert round_trips(lambda: browser(alice).get(url)).round_trips == []


def test_a_csrf_failure_makes_no_round_trip(browser, alice, round_trips):
    assert round_trips(lambda: browser(alice, csrf=True).post("/post/", {"body": "typed"})).round_trips == []


def test_a_health_check_varies_by_nothing(browser):
    assert not browser().get("/livez").has_header("Vary")


def test_the_header_of_a_proxy_counts_only_with_trusted_proxies():
    code = """
client = Client(headers={"host": "localhost", "x-forwarded-proto": "https"})
print(client.get("/robots.txt").status_code)
"""
    assert in_a_process(code, HTTPS="1") == "301"
    assert in_a_process(code, HTTPS="1", TRUSTED_PROXIES="1") == "200"


def test_without_a_store_the_process_starts_and_serves_503():
    code = 'print(Client().get("/timeline/", headers={"host": "localhost"}).status_code)'
    assert in_a_process(code) == "503"


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "redis://localhost:port", "redis://[::1"])
def test_an_invalid_redis_url_is_refused_with_the_fix_and_without_its_password(url):
    with pytest.raises(subprocess.CalledProcessError) as caught:
        in_a_process("from retwis_site.store.client import connect; connect()", REDIS_URL=url)
    assert "REDIS_URL is not the address of a Redis server. Write redis://" in caught.value.stderr.splitlines()[-1]


def test_a_setting_that_must_be_a_number_is_refused_with_the_fix():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        in_a_process("pass", PORT="eighty")
    assert "PORT='eighty' is not valid. Set a whole number from 1 to 65535." in caught.value.stderr
