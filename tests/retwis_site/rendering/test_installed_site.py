"""The site as an app: the manifest, the icons, the service worker, and the page for when there is no connection."""

import json
import re

from django.templatetags.static import static

from retwis_site.rendering.installed import FILES
from retwis_site.store.local_cache import Memory

WORKER = "/service-worker.js"


def told(script):
    """What the server tells the script: `scope`, `page`, `files`, `version`."""
    return json.loads(re.search(r"^const \{.*\} = (\{.*\});$", script, re.MULTILINE)[1])


def test_the_manifest_has_the_sites_name_and_icons_of_their_sizes(browser, raw, alice):
    raw.hset("site", "name", 'The "Harbour"')
    answer = browser(alice).get("/manifest.webmanifest")
    assert answer["Content-Type"] == "application/manifest+json; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=3600"
    assert "Cookie" not in answer.get("Vary", "")
    about = answer.json()
    assert about["name"] == about["short_name"] == 'The "Harbour"'
    assert about["start_url"] == about["scope"] == "/"
    assert '<link rel="manifest" href="/manifest.webmanifest">' in browser().get("/login/").content.decode()
    for icon in about["icons"]:
        width, height = map(int, icon["sizes"].split("x"))
        png = b"".join(browser().get(icon["src"]).streaming_content)
        assert png.startswith(b"\x89PNG")
        assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (width, height)
    assert {icon["purpose"] for icon in about["icons"]} == {"any", "maskable"}


def test_the_worker_keeps_static_files_and_the_page_for_no_connection(browser, raw, alice):
    answer = browser(alice).get(WORKER)
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=0"
    knows = told(answer.content.decode())
    assert (knows["scope"], knows["page"]) == ("/", "/offline/")
    assert knows["files"] == [static(file) for file in FILES]
    assert browser().get(WORKER, headers={"if-none-match": answer["ETag"]}).status_code == 304


def test_other_words_of_the_site_make_another_worker(browser, raw):
    before = told(browser().get(WORKER).content.decode())["version"]
    raw.hset("site", "name", "Harbour")
    Memory.clear_all()
    assert told(browser().get(WORKER).content.decode())["version"] != before


def test_another_language_makes_another_worker_which_keeps_the_page_anew(browser):
    in_german = {"accept-language": "de"}
    answers = [browser().get(WORKER, headers=sent) for sent in ({}, in_german)]
    versions = [told(answer.content.decode())["version"] for answer in answers]
    assert versions[0] != versions[1]
    assert {answer["Vary"] for answer in answers} == {"Accept-Language, Cookie"}
    assert 'lang="de"' in browser().get("/offline/", headers=in_german).content.decode()


def test_the_page_for_no_connection_is_never_older_than_the_worker_that_another_process_has_answered(browser, raw):
    browser().get("/login/")  # this process has read the words
    raw.hset("site", mapping={"name": "Harbour", "colour": "plum"})
    page = browser().get("/offline/").content.decode()
    assert "<title>You are offline · Harbour</title>" in page
    assert 'data-colour="plum"' in page


def test_the_page_for_no_connection_knows_nobody(browser, member, round_trips):
    member.get("/")
    answers = []
    assert round_trips(lambda: answers.append(member.get("/offline/"))).commands == [("HGETALL", "site")]
    page = answers[0].content.decode()
    assert "You are offline" in page
    assert "Alice" not in page
    assert "csrf" not in page
    assert page == browser().get("/offline/").content.decode()
    assert not answers[0].cookies
