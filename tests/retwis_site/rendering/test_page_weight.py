"""What a page weighs: bytes, elements, and the files that a first visit asks for. The texts are those of the demo."""

import gzip
import re
from html.parser import HTMLParser

import pytest
from django.conf import settings

from retwis_site.store.local_cache import Memory
from tests.support.demo_community import DEMO_LOGIN, seed

STATIC = settings.BASE_DIR / "retwis_site/static"


class Parts(HTMLParser):
    """The elements of a page, and the files that it links."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.files = 0, set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements += 1
        has = dict(attrs)
        if tag in {"img", "script"} or (tag == "link" and has["rel"] in {"icon", "stylesheet"}):
            self.files.add(has.get("src") or has.get("href"))


@pytest.fixture
def demo(client, store):
    """demo's window, in a community of the demo."""
    seed()
    client.post("/login/", DEMO_LOGIN)
    Memory.clear_all()
    return client


def full_page(client, url):
    page = client.get(url).content.decode()
    assert page.count("<article") == 20
    return page


def test_a_home_of_twenty_posts_is_small(demo):
    page = full_page(demo, "/")
    assert len(page.encode()) <= 28_000
    assert len(gzip.compress(page.encode(), 9)) <= 5_120


@pytest.mark.parametrize("url", ["/", "/timeline/"])
def test_a_page_of_twenty_posts_has_few_elements(demo, url):
    assert Parts(full_page(demo, url)).elements <= 700


@pytest.mark.parametrize("url", ["/", "/timeline/"])
def test_a_first_visit_makes_six_requests(demo, url):
    for client in (demo, type(demo)()):
        files = Parts(full_page(client, url)).files
        drawn = re.findall(r'url\("(.*?)"\)', (STATIC / "retwis.css").read_text())
        assert len({url, *files, *(f"/static/{name}" for name in drawn)}) <= 6
        assert all((STATIC / name.removeprefix("/static/")).exists() for name in files)
