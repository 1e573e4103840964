"""Downloading one's data: docs/export.md is what comes, whole or not at all."""

import io
import json
import random
import re
import tracemalloc
from pathlib import Path

import pytest
from django.conf import settings
from django.http import FileResponse

from retwis_site.exceptions import StoreError
from retwis_site.store import chunks
from retwis_site.store.chunks import newest_first
from retwis_site.store.local_cache import Memory
from retwis_site.store.rate_limits import RateLimits
from retwis_site.wsgi import application
from tests.support.people import LONG_AGO, PASSWORD, SECRET, register
from tests.support.stored_keys import everything, publish
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip
from timeline.account_data import export as export_module
from timeline.account_data.export import FORMAT, VERSION, export
from timeline.account_data.limits import DOWNLOADS
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

URL = "/settings/download/"
DOCUMENT = (Path(settings.BASE_DIR) / "docs/export.md").read_text()
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """alice, who says who she is, follows bob, carol follows her; she has posted twice, and deleted one of it."""
    Follows(store).follow(1, 2)
    Follows(store).follow(3, 1)
    publish(raw, store, alice, "Hello there")
    deleted = publish(raw, store, alice, "Not for long")
    Posts(store).delete(1, deleted)
    publish(raw, store, bob, "By bob")
    raw.hset("user:1", mapping={"name": "Alice L.", "bio": 'I fell. \u2028 <b>"', "language": "en"})
    raw.zadd("users_by_time", {"Alice": LONG_AGO})
    raw.zadd("following:1", {"2": LONG_AGO + 100})
    raw.zadd("followers:1", {"3": LONG_AGO + 200})
    raw.hset("post:1", "time", LONG_AGO + 300)
    Memory.clear_all()
    return raw


def downloaded(client):
    answer = client.get(URL)
    assert answer.status_code == 200
    return lines_of(b"".join(answer.streaming_content))


def lines_of(content):
    text = content.decode()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


# ---- what is in it


def test_it_has_all_that_the_site_knows_of_one(browser, alice, site):
    first, *lines = downloaded(browser(alice))
    assert TIME.fullmatch(first.pop("exported_at"))
    assert first == {"type": "export", "format": FORMAT, "version": VERSION}
    assert lines == [
        {
            "type": "account",
            "id": 1,
            "username": "Alice",
            "name": "Alice L.",
            "bio": 'I fell. \u2028 <b>"',
            "language": "en",
            "registered": "2023-11-14T22:13:20Z",
            "address": "http://testserver/@Alice/",
        },
        {"type": "following", "id": 2, "username": "bob", "since": "2023-11-14T22:15:00Z"},
        {"type": "follower", "id": 3, "username": "carol", "since": "2023-11-14T22:16:40Z"},
        {
            "type": "post",
            "id": 1,
            "time": "2023-11-14T22:18:20Z",
            "text": "Hello there",
            "address": "http://testserver/@Alice/1/",
        },
        {"type": "end", "lines": 6},
    ]


def test_it_has_no_secret_and_nothing_of_others_but_names(browser, alice, site):
    content = b"".join(browser(alice).get(URL).streaming_content).decode()
    for uid in (1, 2, 3):
        for field in ("password", "auth"):
            assert site.hget(f"user:{uid}", field) not in content
    assert PASSWORD not in content
    assert SECRET not in content
    assert "By bob" not in content
    assert "Not for long" not in content


def test_it_changes_nothing(browser, alice, site, settings):
    settings.THROTTLE = False
    before = everything(site)
    downloaded(browser(alice))
    assert everything(site) == before


def test_an_account_with_nothing_is_a_whole_file_too(browser, alice):
    lines = downloaded(browser(alice))
    assert [line["type"] for line in lines] == ["export", "account", "end"]
    assert lines[-1]["lines"] == 3
    assert (lines[1]["name"], lines[1]["bio"], lines[1]["language"]) == ("", "", "")


def test_what_the_site_does_not_know_is_said_to_be_unknown(browser, alice, raw):
    raw.delete("users_by_time")
    assert downloaded(browser(alice))[1]["registered"] is None


def test_deleted_accounts_are_left_out(browser, alice, bob, site):
    site.hset("user:2", "deleted", LONG_AGO)
    Memory.clear_all()
    assert "following" not in {line["type"] for line in downloaded(browser(alice))}


# ---- the document and the file


def rows(title):
    part = DOCUMENT.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| `")
    ]


def test_the_document_has_every_field_and_no_other(browser, alice, site):
    documented = {}
    for types, field, _ in rows("The fields"):
        for kind in re.findall(r"`(\w+)`", types):
            documented.setdefault(kind, {"type"}).add(field.strip("`"))
    assert {line["type"]: set(line) for line in downloaded(browser(alice))} == documented


def test_the_document_has_the_types_in_their_order(browser, alice, site):
    listed = re.findall(r"^\| `(\w+)` \|", DOCUMENT.partition("## The fields")[0], re.MULTILINE)
    assert [line["type"] for line in downloaded(browser(alice))] == listed


def test_the_documents_example_is_what_comes(browser, alice, site):
    site.hset("user:1", "bio", "I fell.")
    example = lines_of(
        DOCUMENT.partition("```jsonl\n")[2]
        .partition("```")[0]
        .replace("https://retwis.example", "http://testserver")
        .encode()
    )
    found = downloaded(browser(alice))
    found[0]["exported_at"] = example[0]["exported_at"]
    assert found == example


def test_the_document_says_which_version_it_is():
    assert f"This is version {VERSION}." in DOCUMENT
    assert f"`{FORMAT}`" in DOCUMENT


# ---- how it is sent


def test_it_is_a_file_for_its_owner_that_nobody_keeps(browser, alice):
    answer = browser(alice).get(URL)
    assert re.fullmatch(r'attachment; filename="retwis-Alice-\d{4}-\d\d-\d\d\.jsonl"', answer["Content-Disposition"])
    assert answer["Content-Type"] == "application/x-ndjson; charset=utf-8"
    assert answer["Cache-Control"] == "private, no-store"
    assert "Cookie" in answer["Vary"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert browser().get(URL)["Location"] == "/login/?next=%2Fsettings%2Fdownload%2F"
    assert browser(alice).post(URL).status_code == 405


def test_a_name_of_any_characters_makes_a_proper_header(browser, alice, raw):
    name = 'a "b"\r\nX: y ä'
    raw.hset("users", name, 1)
    raw.hset("user:1", "username", name)
    told = browser(alice).get(URL)["Content-Disposition"]
    assert "\r" not in told
    assert "\n" not in told
    assert told.startswith("attachment; filename*=utf-8''retwis-a%20%22b%22")


def test_head_is_told_the_same_and_costs_no_download(browser, alice, raw, round_trips):
    client = browser(alice)
    client.get("/timeline/")
    recorded = round_trips(lambda: client.head(URL))
    assert len(recorded.round_trips) == 1
    answer = client.head(URL)
    assert answer["Content-Disposition"].startswith("attachment;")
    assert b"".join(answer.streaming_content) == b""
    assert raw.keys("throttle:download:*") == []


def test_ten_an_hour(browser, store, alice, bob, raw):
    for _ in range(DOWNLOADS.times):
        downloaded(browser(alice))
    refused = browser(alice).get(URL)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= DOWNLOADS.seconds
    assert "Too many downloads in a short time. The limit is 10." in refused.content.decode()
    downloaded(browser(bob))
    with pytest.raises(Exception, match="10 downloads"):
        RateLimits(store).count(DOWNLOADS, "1")


@pytest.fixture
def much(store, raw, alice, monkeypatch):
    """alice follows twelve and has written thirty posts; five at a time are read."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    for number in range(12):
        Follows(store).follow(1, register(store, f"person{number}").user.uid)
    write_posts(raw, 1, range(1, 31))
    Memory.clear_all()
    return raw


def test_the_newest_come_first_and_none_is_left_out(browser, alice, much):
    lines = downloaded(browser(alice))
    assert [line["id"] for line in lines if line["type"] == "post"] == list(range(30, 0, -1))
    assert sorted(line["id"] for line in lines if line["type"] == "following") == list(range(2, 14))
    assert lines[-1] == {"type": "end", "lines": len(lines)}


def made(store, login):
    return export(store, login.user, lambda *arguments: "")


def test_it_takes_two_round_trips_a_piece(store, alice, much, round_trips):
    recorded = round_trips(lambda: made(store, alice).close())
    # Who it is about; whom they follow; that nobody follows them, and their posts.
    assert len(recorded.round_trips) == 1 + 3 * 2 + 1 + 2 + 7 * 2
    assert not any(len(round_trip.commands) > 5 for round_trip in recorded.round_trips)


def test_a_short_one_is_in_memory(store, alice, much):
    with made(store, alice) as file:
        assert file.name is None
        assert lines_of(file.read())[-1]["type"] == "end"


def test_a_long_one_is_on_the_disk_and_nobody_can_open_it_by_a_name(
    store, alice, much, settings, monkeypatch, tmp_path
):
    settings.VAR_DIR = tmp_path / "not made yet"
    monkeypatch.setattr(export_module, "IN_MEMORY", 1000)
    with made(store, alice) as file:
        assert isinstance(file.name, int)
        assert Path(f"/dev/fd/{file.fileno()}").stat().st_dev == settings.VAR_DIR.stat().st_dev
        assert list(settings.VAR_DIR.iterdir()) == []
        assert lines_of(file.read())[-1]["type"] == "end"


def test_only_a_piece_of_it_is_in_memory_at_a_time(store, raw, alice, monkeypatch):
    monkeypatch.setattr(chunks, "AT_ONCE", 50)
    monkeypatch.setattr(export_module, "IN_MEMORY", 1000)
    write_posts(raw, 1, range(1, 3001))
    made(store, alice).close()  # what is remembered from the first time on
    tracemalloc.start()
    try:
        with made(store, alice) as file:
            size = file.seek(0, io.SEEK_END)
        stays, most = tracemalloc.get_traced_memory()  # the watch over the suite keeps what was sent
    finally:
        tracemalloc.stop()
    assert most - stays < size / 4


def test_any_server_is_told_how_long_it_is_and_gets_it_piece_by_piece(alice, much):
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": URL,
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "HTTP_COOKIE": f"{settings.AUTH_COOKIE}={alice.secret}",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    told = {}
    answer = application(environ, lambda status, headers: told.update(headers))
    assert isinstance(answer, FileResponse)
    pieces = list(answer)
    answer.close()
    assert int(told["Content-Length"]) == sum(map(len, pieces))
    assert max(map(len, pieces)) < 10_000
    assert lines_of(b"".join(pieces))[-1]["type"] == "end"


# ---- a store that fails


@pytest.mark.parametrize("round_trip", range(2, 23, 2))
def test_a_failure_is_a_page_however_much_was_read_and_nothing_stays_open(
    browser, alice, much, monkeypatch, round_trip
):
    monkeypatch.setattr(export_module, "IN_MEMORY", 100)
    client = browser(alice)
    client.get("/timeline/")
    before = open_files()

    def fails():
        raise StoreError("away")

    with before_round_trip(round_trip, fails):  # who asks, the limit, and then what there is
        answer = client.get(URL)
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert "Temporarily unavailable" in answer.content.decode()
    assert "Content-Disposition" not in answer
    assert open_files() == before


def open_files():
    return len(list(Path("/dev/fd").iterdir()))


# ---- what is written meanwhile


@pytest.mark.parametrize("seed", range(60))
def test_what_stays_is_found_once_whatever_comes_and_goes(store, raw, monkeypatch, seed):
    """Many rows share a score; and between any two chunks some go, some come, and some are moved up."""
    monkeypatch.setattr(chunks, "AT_ONCE", 4)
    chance = random.Random(seed)
    stays = {str(number): chance.randrange(3) for number in range(1, 60, 2)}
    goes = {str(number): chance.randrange(3) for number in range(60, 120)}
    raw.zadd("followers:1", {**stays, **goes})
    found = []
    for rows_found in newest_first(store, "followers:1"):
        assert 0 < len(rows_found) <= 4
        found += rows_found
        for member in chance.sample(sorted(goes), min(len(goes), chance.randrange(12))):
            raw.zrem("followers:1", member)
            del goes[member]
        for number in range(chance.randrange(4)):
            raw.zadd("followers:1", {f"{len(found)}0{number}": chance.randrange(5)})
    names = [member for member, _ in found]
    assert len(names) == len(set(names))
    assert stays.items() <= {member: int(score) for member, score in found}.items()
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_a_set_is_read_in_as_many_round_trips_as_it_has_chunks(store, raw, round_trips):
    raw.zadd("followers:1", {str(number): 7 for number in range(1, 2000)})
    assert len(round_trips(lambda: list(newest_first(store, "followers:1"))).round_trips) == 5
    raw.delete("followers:1")
    assert len(round_trips(lambda: list(newest_first(store, "followers:1"))).round_trips) == 1
