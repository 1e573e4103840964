"""Headers that no browser sends: the site refuses them, keeps nothing of them, and logs them in short lines."""

import gc
import io
import logging
import sys
from http import cookies
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.utils.translation import trans_real

from retwis_site.http.language import _best_match
from retwis_site.middleware import LONGEST_HEADER, LONGEST_HOST
from retwis_site.store.local_cache import Memory
from retwis_site.telemetry.log_lines import LONGEST_LINE, BoundedLine
from tests.support.memory import everything
from tests.support.stores.seam import examples
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

BACKSLASH = "\\"
PAGES = ["/", "/timeline/", "/timeline/atom/", "/@Alice/rss/", "/@Alice/", "/@Alice/1/", "/robots.txt", "/sitemap.xml"]


@pytest.fixture
def lines(monkeypatch):
    """The log as it is written, without the line that each request has."""
    output = io.StringIO()
    for name in ("django.request", "django.security", "retwis"):
        (handler,) = [one for one in logging.getLogger(name).handlers if isinstance(one.formatter, BoundedLine)]
        monkeypatch.setattr(handler, "stream", output)
    return lambda: [line for line in output.getvalue().splitlines() if " retwis.access" not in line]


def ask(path, **headers):
    return Client(raise_request_exception=False, headers=headers).get(path)


def kept():
    """The bytes of the headers that Python and Django keep, as they were and parsed."""
    caches = (urlsplit, _best_match, trans_real._parse_accept_lang_header, trans_real._get_supported_language_variant)
    waiting, sizes = gc.get_referents(*caches), {}
    while waiting:
        one = waiting.pop()
        if isinstance(one, str | float | tuple | list):
            sizes[id(one)] = sys.getsizeof(one)
            waiting += [] if isinstance(one, str | float) else one
    return sum(sizes.values())


def entries():
    """How many entries the site's own caches have."""
    return sum(len(everything(memory)) for memory in Memory.every if isinstance(memory, Memory))


# ---- what is refused


@pytest.mark.parametrize("path", [*PAGES, "/nothing/", "/static/retwis.css"])
def test_a_host_with_hundreds_of_thousands_of_digits_is_a_400(alice, path):
    answer = ask(path, host=f"localhost:{'1' * 350_000}")
    assert answer.status_code == 400
    assert "1" * 32 not in answer.content.decode()
    assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("port", ["65536", "99999", "000080", "1" * 300])
def test_a_port_that_no_host_has_is_a_400(port):
    assert ask("/robots.txt", host=f"localhost:{port}").status_code == 400


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "localhost:65535", "localhost.", "[::1]:8000"])
def test_a_host_of_the_site_is_answered(settings, host):
    settings.ALLOWED_HOSTS = ["localhost", "[::1]"]
    assert ask("/robots.txt", host=host).status_code == 200


def test_any_name_of_the_site_is_at_most_255_characters(settings):
    settings.ALLOWED_HOSTS = [".example.com"]
    longest = f"{'a' * (255 - len('.example.com'))}.example.com:65535"
    assert len(longest) == LONGEST_HOST
    assert ask("/robots.txt", host=longest).status_code == 200
    assert ask("/robots.txt", host=f"a{longest}").status_code == 400


@pytest.mark.usefixtures("raw")
@pytest.mark.parametrize("name", ["Referer", "Origin", "Cookie", "User-Agent", "X-Anything"])
def test_a_header_that_is_too_long_is_a_431_in_the_language_of_the_reader(name):
    longest = {"Accept-Language": "de", name: "x" * LONGEST_HEADER}
    assert ask("/login/", **longest).status_code == 200
    answer = ask("/login/", **{**longest, name: f"{longest[name]}x"})
    assert answer.status_code == 431
    assert answer["Content-Language"] == "de"
    assert "Lösche die Cookies" in answer.content.decode()
    # Else each page would be one. Other headers of one request are no reason to delete anything.
    assert answer.get("Clear-Site-Data") == ('"cookies"' if name == "Cookie" else None)


@pytest.mark.parametrize("path", ["/timeline/", "/livez", "/@Alice/rss/", "/api/v1/instance"])
@pytest.mark.parametrize(("length", "host"), [(1000, "localhost"), (LONGEST_HEADER, "localhost"), (1000, "x" * 300)])
def test_cookies_with_many_escapes_are_not_parsed(alice, monkeypatch, path, length, host):
    """Older versions of Python take as many steps as their length squared."""
    real, parsed = cookies._unquote, [""]
    monkeypatch.setattr(cookies, "_unquote", lambda text: parsed.append(text) or real(text))
    answer = ask(path, host=host, cookie=f'a="{BACKSLASH * length}"')
    assert answer.status_code == (200 if host == "localhost" or path == "/livez" else 400)
    assert not any(BACKSLASH in text for text in parsed)


# ---- what is kept


@pytest.mark.parametrize("path", PAGES)
def test_no_page_keeps_a_host(alice, store, settings, path):
    """With ALLOWED_HOSTS=.example.com an attacker has as many names as they like."""
    settings.ALLOWED_HOSTS = [".example.com"]
    for number in range(3):
        Posts(store).publish(alice.user.uid, NewPost(f"Hello @bob {number}"), f"t{number}")
    ask(path, host="example.com")
    before = kept(), entries()
    for number in range(10):
        assert ask(path, host=f"{'a' * 235}{number}.example.com:{number}").status_code == 200
        assert ask(path, host=f"example.com:{'1' * 350_000}{number}").status_code == 400
    assert kept() - before[0] < 300_000
    assert entries() <= before[1]


@pytest.mark.parametrize(
    ("name", "number", "most"),
    [
        ("Referer", 200, 6_000_000),  # Python keeps the last 128 addresses that it has split
        ("Origin", 30, 100_000),
        ("Accept-Language", examples(1200), examples(6_000_000)),  # Django keeps the last thousand
        ("Cookie", 30, 100_000),
        ("User-Agent", 30, 100_000),
    ],
)
def test_no_header_fills_the_memory(alice, name, number, most):
    """The longest headers that are accepted, and (of Accept-Language with all examples) more than the caches hold."""
    before = kept()
    for one in range(number):
        value = {
            "Accept-Language": f"x-{one}," + ",".join(f"x{chr(97 + n % 26)}-{n}" for n in range(90)),
            "Referer": f"http://testserver/{one}/{'x' * LONGEST_HEADER}",
            "Origin": f"http://testserver:{one}/{'x' * LONGEST_HEADER}",
            "Cookie": f"language={one}{'x' * LONGEST_HEADER}",
        }.get(name, f"{one}{'x' * LONGEST_HEADER}")
        Client(headers={name: value[:LONGEST_HEADER]}).post("/@Alice/follow/")
    assert kept() - before < most


# ---- what is logged


@pytest.mark.parametrize(
    "host", ["evil.example" * 30_000, f"evil.example:{'1' * 300_000}", "evil\n2026 forged\r\x1b[31m " * 20_000]
)
def test_a_refused_host_of_300_kb_is_a_short_line_in_the_log(lines, host):
    assert ask("/", host=host).status_code == 400
    assert ask("/", host=host[:200]).status_code == 400
    assert lines()
    assert sum(map(len, lines())) < 2000


def test_a_path_of_64_kb_is_a_short_line_in_the_log(lines, client):
    Client(enforce_csrf_checks=True).post("/@Alice" + "a" * 64_000 + "/follow/")
    (line,) = lines()
    assert len(line) < 500
    assert line.isprintable()


def test_a_line_is_bounded_and_its_end_is_kept():
    def formatted(text, *arguments):
        record = logging.makeLogRecord({"name": "retwis", "levelname": "INFO", "msg": text, "args": arguments})
        return BoundedLine().format(record).partition(" INFO retwis: ")[2]

    long = formatted("GET %s: too often", "/" + "a" * 300_000)
    assert long == f"GET /{'a' * 199}...: too often".replace("...: too", "... too")
    assert len(formatted("a b " * 100_000)) == LONGEST_LINE + len("...")
    assert formatted("one\ntwo\u2028three\x1b[31m") == r"one\ntwo\u2028three\x1b[31m"


def test_each_line_of_a_traceback_is_bounded():
    try:
        raise ValueError("x" * 300_000)
    except ValueError:
        record = logging.makeLogRecord({"msg": "failed", "exc_info": sys.exc_info()})
    record.stack_info = f"Stack:\n{'y' * 300_000}"
    first, *traceback, stack, innermost = BoundedLine().format(record).splitlines()
    assert first.endswith(": failed")
    assert traceback[-1].startswith("ValueError: xxx")
    assert (stack, innermost[:3]) == ("Stack:", "yyy")
    assert max(map(len, [*traceback, innermost])) < 500


def test_every_handler_of_the_log_writes_bounded_lines():
    assert set(settings.LOGGING["formatters"]) == {"line"}
    assert {handler["formatter"] for handler in settings.LOGGING["handlers"].values()} == {"line"}
