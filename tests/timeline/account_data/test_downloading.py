"""The personal download: the file is as docs/export.md says, and it is complete or not sent at all."""

import errno
import io
import json
import logging
import random
import re
import tracemalloc
from pathlib import Path
from tempfile import SpooledTemporaryFile

import pytest
from django.conf import settings
from django.http import FileResponse

from accounts.media.repository import Pictures
from accounts.signing_in import tokens
from accounts.signing_in.factors import CONFIRMED_COOKIE, confirmation
from retwis_site.exceptions import StoreError
from retwis_site.store import chunks
from retwis_site.store.chunks import newest_first
from retwis_site.store.local_cache import Memory
from retwis_site.wsgi import application
from tests.support.clock import Clock
from tests.support.maintenance import downloads
from tests.support.people import LONG_AGO, PASSWORD, SECRET, register
from tests.support.pictures import decoded_picture
from tests.support.stored_keys import everything, publish
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip
from timeline.account_data import download as export_module
from timeline.account_data.download import FORMAT, VERSION, export
from timeline.account_data.feature import DOWNLOADS
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

URL = "/settings/download/"
DOCUMENT = (settings.BASE_DIR / "docs/export.md").read_text()
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def site(store, raw, alice, bob, carol, monkeypatch):
    """alice has a display name and a bio, follows bob, and has two posts; one is deleted. carol follows her."""
    monkeypatch.setattr(tokens, "time", Clock())  # the token of an app is used
    Follows(store).follow(1, 2)
    Follows(store).follow(3, 1)
    publish(raw, store, alice, "Hello there")
    deleted = publish(raw, store, alice, "Not for long")
    Posts(store).delete(1, deleted)
    publish(raw, store, bob, "By bob")
    raw.hset("user:1", mapping={"name": "Alice L.", "bio": 'I fell. \u2028 <b>"', "language": "en", "colour": "red"})
    raw.hset("user:1", "facts", '[["Web", "https://alice.example/"]]')
    raw.hset("user:1", "verified_links", f'{{"https://alice.example/": {LONG_AGO}}}')
    raw.zadd("users_by_time", {"Alice": LONG_AGO})
    raw.zadd("following:1", {"2": LONG_AGO + 100})
    raw.zadd("followers:1", {"3": LONG_AGO + 200})
    raw.zadd("blocked:1", {"3": LONG_AGO + 200})
    raw.zadd("muted:1", {"3": "+inf"})
    raw.zadd("muted_reposts:1", {"2": 1_800_000_000})
    raw.zadd("muted_words:1", {"home fold the finale": "+inf"})
    raw.zadd("tags_of:1", {"python": LONG_AGO + 100})
    raw.zadd("home_tags:1", {"python": LONG_AGO + 100})
    raw.zadd("likes:1", {"3": LONG_AGO + 200})
    raw.zadd("reposts:1", {"3": 9})
    raw.hset("post:9", mapping={"user_id": 1, "time": LONG_AGO + 205, "repost_of": 3})
    raw.zadd("updates:1", {"9": 9})
    raw.zadd("bookmarks:1", {"3": LONG_AGO + 210})
    raw.zadd("muted_threads:1", {"3": LONG_AGO + 220})
    downloads.write_report(raw)
    raw.delete("notices:1")
    raw.zadd("notices:1", {"reply:3:2": LONG_AGO + 340, "up_to_here": LONG_AGO + 200})
    raw.hset("user:1", mapping={"noticed": LONG_AGO + 200, "quiet": "like", "pinned": 1})
    raw.hset("post:1", "time", LONG_AGO + 300)
    raw.hset("user:1", mapping={"session:secret": f"{LONG_AGO}::Firefox:Linux", "used:secret": LONG_AGO + 2800})
    raw.hset("credentials:1", "totp", f"{LONG_AGO}:JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
    raw.hset("credentials:1", "passkey:a1-_", f'{{"name":"Phone","key":"b2-_","since":{LONG_AGO}}}')
    raw.hset("user:1", "token:digest", f"{LONG_AGO}::tusky:read write")
    raw.hset("app:tusky", mapping={"name": "Tusky", "website": "https://tusky.app", "secret": "digest"})
    downloads.write_act_and_appeal(raw)
    downloads.write_invitations(raw)
    Memory.clear_all()
    return raw


def downloaded(client):
    client.cookies[CONFIRMED_COOKIE] = confirmation(client.cookies[settings.AUTH_COOKIE].value)
    answer = client.get(URL)
    assert answer.status_code == 200
    return lines_of(b"".join(answer.streaming_content))


def lines_of(content):
    text = content.decode()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


# ---- content


def test_it_has_no_secret_and_only_names_of_other_users(browser, alice, site):
    content = json.dumps(downloaded(browser(alice)))
    for uid in (1, 2, 3):
        for field in ("password", "auth"):
            assert site.hget(f"user:{uid}", field) not in content
    assert PASSWORD not in content
    assert SECRET not in content
    assert "By bob" not in content
    assert "Not for long" not in content


def test_a_download_changes_nothing(browser, alice, site, settings):
    settings.THROTTLE = False
    before = everything(site)
    downloaded(browser(alice))
    assert everything(site) == before


def test_a_new_account_has_a_complete_file(browser, alice):
    lines = downloaded(browser(alice))
    assert [line["type"] for line in lines] == ["export", "account", "end"]
    assert lines[-1]["lines"] == 3
    assert (lines[1]["name"], lines[1]["bio"], lines[1]["language"]) == ("", "", "")


def test_an_unknown_join_date_is_null(browser, alice, raw):
    raw.delete("users_by_time")
    assert downloaded(browser(alice))[1]["registered"] is None


def test_deleted_posts_are_left_out(browser, alice, site, store):
    """A bookmark stays until `cleanup`, and no page shows it. The place of a post with replies stays for ever."""
    Posts(store).publish(2, NewPost("An answer", reply_to=3), "answer")
    Posts(store).delete(2, 3)
    assert site.zscore("bookmarks:1", 3)
    assert site.hexists("post:3", "deleted")
    assert not {"like", "repost", "bookmark"} & {line["type"] for line in downloaded(browser(alice))}


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


def test_the_document_has_every_field_and_no_other(browser, alice, site, store):
    Pictures(store).add(1, decoded_picture())
    documented = {}
    for types, field, _ in rows("The fields"):
        for kind in re.findall(r"`(\w+)`", types):
            documented.setdefault(kind, {"type"}).add(field.strip("`"))
    optional = {kind: {field for field in fields if field.endswith("*")} for kind, fields in documented.items()}
    found = {line["type"]: set(line) for line in downloaded(browser(alice))}
    assert found == {kind: fields - optional[kind] for kind, fields in documented.items()}
    assert {kind: fields for kind, fields in optional.items() if fields} == {
        "post": {
            "language`*",
            "reply_to`*",
            "reply_to_address`*",
            "quote`*",
            "quote_address`*",
            "texts`*",
            "pictures`*",
            "sensitive`*",
        },
        "picture": {"animated`*"},
    }


def test_the_document_has_the_types_in_their_order(browser, alice, site, store):
    Pictures(store).add(1, decoded_picture())
    listed = re.findall(r"^\| `(\w+)` \|", DOCUMENT.partition("## The fields")[0], re.MULTILINE)
    assert [line["type"] for line in downloaded(browser(alice))] == listed


def test_it_has_all_data_of_the_user_as_the_example_in_the_document(browser, alice, site):
    example = lines_of(
        DOCUMENT.partition("```jsonl\n")[2]
        .partition("```")[0]
        .replace("https://retwis.example", "http://testserver")
        .encode()
    )
    lines = downloaded(browser(alice))
    assert TIME.fullmatch(lines[0]["exported_at"])
    lines[0]["exported_at"] = example[0]["exported_at"]
    example[1]["bio"] = site.hget("user:1", "bio")
    assert lines == example


def test_the_document_names_format_and_version():
    assert f"This is version {VERSION}." in DOCUMENT
    assert f"`{FORMAT}`" in DOCUMENT


# ---- the response


def test_it_is_a_private_attachment_that_no_cache_stores(browser, alice):
    answer = browser(alice).get(URL)
    assert re.fullmatch(r'attachment; filename="retwis-Alice-\d{4}-\d\d-\d\d\.jsonl"', answer["Content-Disposition"])
    assert answer["Content-Type"] == "application/x-ndjson; charset=utf-8"
    assert answer["Cache-Control"] == "private, no-store"
    assert "Cookie" in answer["Vary"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert browser().get(URL)["Location"] == "/login/?next=%2Fsettings%2Fdownload%2F"
    assert browser(alice).post(URL).status_code == 405


def test_a_username_of_any_characters_makes_a_valid_header(browser, alice, raw):
    name = 'a "b"\r\nX: y ä'
    raw.hset("users", name, 1)
    raw.hset("user:1", "username", name)
    header = browser(alice).get(URL)["Content-Disposition"]
    assert "\r" not in header
    assert "\n" not in header
    assert header.startswith("attachment; filename*=utf-8''retwis-a%20%22b%22")


def test_head_has_the_same_headers_and_does_not_count_as_a_download(member, raw, round_trips):
    member.get("/timeline/")
    recorded = round_trips(lambda: member.head(URL))
    assert len(recorded.round_trips) == 1
    answer = member.head(URL)
    assert answer["Content-Disposition"].startswith("attachment;")
    assert b"".join(answer.streaming_content) == b""
    assert raw.keys("throttle:download:*") == []


def test_ten_downloads_an_hour_are_allowed(browser, store, alice, bob, raw):
    for _ in range(DOWNLOADS.times):
        downloaded(browser(alice))
    refused = browser(alice).get(URL)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= DOWNLOADS.seconds
    assert "Too many downloads in a short time. The limit is 10." in refused.content.decode()
    downloaded(browser(bob))
    with pytest.raises(Exception, match="10 downloads"):
        DOWNLOADS.count(store, 1)


@pytest.fixture
def long_data(store, raw, alice, monkeypatch):
    """alice follows 12 users and has 30 posts. Each chunk has five rows."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    for number in range(12):
        Follows(store).follow(1, register(store, f"person{number}").user.uid)
    write_posts(raw, 1, range(1, 31))
    Memory.clear_all()
    return raw


def test_all_rows_are_there_newest_first(browser, alice, long_data):
    lines = downloaded(browser(alice))
    assert [line["id"] for line in lines if line["type"] == "post"] == list(range(30, 0, -1))
    assert sorted(line["id"] for line in lines if line["type"] == "following") == list(range(2, 14))
    assert lines[-1] == {"type": "end", "lines": len(lines)}


def make_file(store, login):
    return export(store, login.user, lambda *arguments: "")


def test_each_chunk_takes_two_round_trips(store, alice, long_data, round_trips):
    recorded = round_trips(lambda: make_file(store, alice).close())
    # Account, pictures, sessions, apps, factors, acts, appeal, invitations, facts; people, ten others; posts, pin,
    # reports, notices, settings.
    assert len(recorded.round_trips) == 2 + 1 + 1 + 1 + 2 + 2 + 1 + 3 * 2 + 1 + 10 + 2 + 7 * 2 + 1 + 1 + 2
    assert not any(len(round_trip.commands) > 10 for round_trip in recorded.round_trips)


def test_a_short_file_is_in_memory(store, alice, long_data):
    with make_file(store, alice) as file:
        assert file.name is None
        assert lines_of(file.read())[-1]["type"] == "end"


def test_a_long_file_is_on_the_disk_without_a_name(store, alice, long_data, settings, monkeypatch, tmp_path):
    settings.VAR_DIR = tmp_path / "not made yet"
    monkeypatch.setattr(export_module, "IN_MEMORY", 1000)
    with make_file(store, alice) as file:
        assert isinstance(file.name, int)
        assert Path(f"/dev/fd/{file.fileno()}").stat().st_dev == settings.VAR_DIR.stat().st_dev
        assert list(settings.VAR_DIR.iterdir()) == []
        assert lines_of(file.read())[-1]["type"] == "end"


def test_only_one_chunk_is_in_memory_at_a_time(store, raw, alice, monkeypatch):
    monkeypatch.setattr(chunks, "AT_ONCE", 50)
    monkeypatch.setattr(export_module, "IN_MEMORY", 1000)
    write_posts(raw, 1, range(1, 5001))
    make_file(store, alice).close()  # fills the caches
    tracemalloc.start()
    try:
        with make_file(store, alice) as file:
            size = file.seek(0, io.SEEK_END)
        stays, most = tracemalloc.get_traced_memory()  # the recorder of the tests keeps all commands
    finally:
        tracemalloc.stop()
    assert most - stays < size / 4


def test_a_wsgi_server_gets_the_length_and_the_file_in_blocks(alice, long_data):
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": URL,
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "HTTP_COOKIE": f"{settings.AUTH_COOKIE}={alice.secret}",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    sent_headers = {}
    answer = application(environ, lambda status, headers: sent_headers.update(headers))
    assert isinstance(answer, FileResponse)
    blocks = list(answer)
    answer.close()
    assert int(sent_headers["Content-Length"]) == sum(map(len, blocks))
    assert max(map(len, blocks)) < 10_000
    assert lines_of(b"".join(blocks))[-1]["type"] == "end"


# ---- store failures


@pytest.mark.parametrize("round_trip", range(2, 23, 2))
def test_a_store_failure_is_an_error_page_and_no_file_stays_open(member, long_data, monkeypatch, round_trip):
    monkeypatch.setattr(export_module, "IN_MEMORY", 100)
    member.get("/timeline/")
    before = open_files()

    def fails():
        raise StoreError("away")

    with before_round_trip(round_trip, fails):  # after the viewer and the rate limit
        answer = member.get(URL)
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert "Temporarily unavailable" in answer.content.decode()
    assert "Content-Disposition" not in answer
    assert open_files() == before


def test_a_full_disk_is_an_error_page_and_no_download_counts(member, long_data, monkeypatch, raw, caplog):
    """A long file goes to the disk; a member who tries again later may still download ten."""

    class OnFullDisk(SpooledTemporaryFile):
        def rollover(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export_module, "IN_MEMORY", 100)
    monkeypatch.setattr(export_module, "SpooledTemporaryFile", OnFullDisk)
    monkeypatch.setattr(logging.getLogger("retwis"), "propagate", True)
    before = open_files()
    for _ in range(DOWNLOADS.times + 1):
        answer = member.get(URL)
        assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert "The server has no room for this file right now." in answer.content.decode()
    assert "Content-Disposition" not in answer
    assert "No space left on device" in caplog.text
    assert raw.keys("throttle:download:*") == []
    assert open_files() == before


def open_files():
    return len(list(Path("/dev/fd").iterdir()))


# ---- writes during a download


@pytest.mark.parametrize("seed", range(60))
def test_a_row_that_stays_is_read_once_while_others_change(store, raw, monkeypatch, seed):
    """Many rows share a score. Between two chunks, rows are removed, added, and moved up."""
    monkeypatch.setattr(chunks, "AT_ONCE", 4)
    chance = random.Random(seed)
    stays = {str(number): chance.randrange(3) for number in range(1, 60, 2)}
    goes = {str(number): chance.randrange(3) for number in range(60, 120)}
    raw.zadd("followers:1", {**stays, **goes})
    rows_read = []
    for chunk in newest_first(store, "followers:1"):
        assert 0 < len(chunk) <= 4
        rows_read += chunk
        for member in chance.sample(sorted(goes), min(len(goes), chance.randrange(12))):
            raw.zrem("followers:1", member)
            del goes[member]
        for number in range(chance.randrange(4)):
            raw.zadd("followers:1", {f"{len(rows_read)}0{number}": chance.randrange(5)})
    assert len(rows_read) == len({member for member, _ in rows_read})
    assert stays.items() <= {member: int(score) for member, score in rows_read}.items()
    assert [score for _, score in rows_read] == sorted((score for _, score in rows_read), reverse=True)


def test_a_set_costs_one_round_trip_for_each_chunk(store, raw, round_trips):
    raw.zadd("followers:1", {str(number): 7 for number in range(1, 2000)})
    assert len(round_trips(lambda: list(newest_first(store, "followers:1"))).round_trips) == 5
    raw.delete("followers:1")
    assert len(round_trips(lambda: list(newest_first(store, "followers:1"))).round_trips) == 1
