"""The pages of the book: chapters as HTML, their links and pictures, and when the site has them."""

import json
import os

import pytest

from tests.support.http.answers import Page
from tests.support.processes.fresh_process import run_code
from timeline.book.views import chapters, contents, html_of, title_of

NAMES = list(chapters())


def test_the_contents_lead_to_every_chapter(browser):
    answer = browser().get("/book/")
    links = Page(answer.content.decode()).links
    assert [f"/book/{name}/" for name in NAMES if f"/book/{name}/" not in links] == []
    assert f"<h1>{contents().title}</h1>" in answer.content.decode()


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_its_picture_and_leads_to_its_neighbours(browser, name):
    html = browser().get(f"/book/{name}/").content.decode()
    assert f"<title>{chapters()[name].title} · The book · Retwis</title>" in html
    assert f'src="/book/{name}.svg"' in html
    order = [None, *NAMES, None]
    place = order.index(name)
    before, after = order[place - 1], order[place + 1]
    assert ('rel="prev"' in html) is (before is not None)
    assert ('rel="next"' in html) is (after is not None)
    for neighbour in filter(None, (before, after)):
        assert f'<a href="/book/{neighbour}/" rel=' in html
    picture = browser().get(f"/book/{name}.svg")
    assert picture["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert picture["Cache-Control"] == "public, max-age=3600"
    assert picture.content.startswith(b"<svg")


def test_every_link_on_a_page_of_the_book_leads_to_a_page(browser):
    for path in ["/book/", *(f"/book/{name}/" for name in NAMES)]:
        links = {link for link in Page(browser().get(path).content.decode()).links if (link or "").startswith("/book/")}
        assert {link: browser().get(link).status_code for link in links} == dict.fromkeys(links, 200)


@pytest.mark.parametrize("path", ["/book/nothing/", "/book/nothing.svg", "/book/README/", "/book/..%2FREADME/"])
def test_other_addresses_are_404(browser, path):
    assert browser().get(path).status_code == 404


def test_the_book_stays_english_on_a_page_in_another_language(client, raw):
    html = client.get("/book/", headers={"accept-language": "ar"}).content.decode()
    assert '<html lang="ar" dir="rtl"' in html
    assert '<article class="panel sheet book" lang="en" dir="ltr">' in html


def test_every_page_leads_to_the_book(browser, alice):
    for client in (browser(), browser(alice)):
        assert 'href="/book/"' in client.get("/people/").content.decode()


# ---- from Markdown to HTML


def test_links_between_chapters_are_addresses_and_all_others_are_text():
    html = html_of("[one](unique-names.md), [all](README.md), [keys](../keys.md), [Redis](https://redis.io/)")
    one, everything = '<a href="/book/unique-names/">one</a>', '<a href="/book/">all</a>'
    assert html == f"<p>{one}, {everything}, keys, Redis</p>\n"


def test_a_session_has_marked_commands_and_what_has_happened_before():
    html = html_of('```redis Alice & Bob\n> GET "a"\n"<b>"\n```\n')
    assert html == (
        "<figure><figcaption>Alice &amp; Bob</figcaption><pre><samp><kbd>&gt; GET &quot;a&quot;</kbd>\n"
        "&quot;&lt;b&gt;&quot;</samp></pre></figure>\n"
    )


def test_a_picture_leads_to_itself():
    picture = '<img src="/book/caches.svg" alt="A &amp; B">'
    assert html_of("![A & B](caches.svg)") == f'<p><a href="/book/caches.svg">{picture}</a></p>\n'


def test_the_empty_corner_of_a_table_is_no_heading():
    assert "<tr>\n<td></td>\n<th>here</th>\n</tr>" in html_of("| | here |\n|---|---|\n| a | b |\n")


def test_code_is_escaped():
    assert html_of("```python\na < b\n```\n") == "<pre><code>a &lt; b\n</code></pre>\n"


def test_the_title_is_the_first_heading():
    assert title_of("# One & two\n\n# Three\n") == "One & two"


# ---- the setting

HAS = """
import json
import django
django.setup()
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from timeline.feeds.views import FixedPages
def has(name):
    try:
        found = resolve(f"/{name}/").view_name == name
    except Resolver404:
        found = False
    return found, name in FixedPages().items(), f"/{name}/" in render_to_string("retwis_site/base.html")
print(json.dumps({name: has(name) for name in ("book", "explore")}))
"""


@pytest.mark.parametrize(
    ("environment", "has"),
    [
        ({}, ["book", "explore"]),
        ({"BOOK": "0"}, ["explore"]),
        ({"REDIS_URL": "redis://store.example"}, ["explore"]),
        ({"REDIS_URL": "redis://store.example", "BOOK": "1"}, ["book", "explore"]),
        ({"ALLOWED_HOSTS": "retwis.example"}, ["explore"]),
        *(({"EXPLORE": off}, ["book"]) for off in ("0", "off")),
    ],
)
def test_a_site_for_trials_has_the_book_and_settings_decide_of_it_and_of_explore(tmp_path, environment, has):
    own = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    site = {"DJANGO_SETTINGS_MODULE": "retwis_site.settings", "VAR_DIR": str(tmp_path), **environment}
    run = run_code(HAS, own | site)
    assert json.loads(run.stdout) == {name: [name in has] * 3 for name in ("book", "explore")}, run.stderr
