"""A bad value in the store is skipped where it is met, logged once, reported by `doctor`, and removed by --fix."""

import contextlib
import logging
import re
from collections import Counter
from itertools import cycle, product

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.checks import AT_ONCE
from retwis_site.maintenance.key_checks import KeyChecks
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.local_cache import Memory
from tests.support.command_output import COUNTERS, VALUES, doctor, finds_and_mends, mends_all, report_of
from tests.support.maintenance.copied_sites import copy, keys_to_copy
from tests.support.maintenance.healthy_site import ALICE, BOB
from tests.support.maintenance.official_database import AMELIA, make_official_database
from tests.support.maintenance.site_files import export
from tests.support.people import LONG_AGO
from tests.support.stored_keys import everything
from tests.support.stores.seam import cases

pytestmark = pytest.mark.usefixtures("no_waiting")

NOT_IDS = {
    "empty": b"",
    "letters": b"x",
    "zero": b"0",
    "a zero before it": b"007",
    "negative": b"-7",
    "too large for a score": b"9007199254740992",
    "thousands of digits": b"9" * 5000,
    "no ASCII digits": "٧".encode(),
    "no UTF-8": b"\xff\xfe7",
    "two ids": b"1,2",
    "a space before it": b" 7",
    "a fraction": b"7.5",
}
INFINITE = ("inf", "-inf", "-5", "1e300")  # scores

JOBS = ["outbox", "outbox:1", "set_aside"]
SETS = ["following:1", "following:2", "followers:1", "followers:3", "updates:1", "updates:2", "likes:1", "liked_by:1"]
RANKED = ["users_by_followers", "users_by_time", "users_by_name", "recent", "recent:1", *JOBS]
LISTS = ["posts:1", "posts:2", "timeline"]
SECRET = "00000000000000000000000000000bad"  # leads to a bad value
TOKEN = "t" * 32


def add_members(raw, value):
    """A bad member in every sorted set, above the good ones, and a bad entry in every list."""
    for key in SETS + RANKED:
        raw.zadd(key, {value: LONG_AGO if key in JOBS else 9e12})
    for key in LISTS if not value.startswith(b"-") else ():  # there, `-7` is a mark
        raw.lpush(key, value)


def add_fields(raw, value):
    """A bad value in every hash and in the strings that hold an id."""
    raw.hset("users", mapping={"ghost": value})
    raw.hset("auths", mapping={SECRET: value})
    raw.hset("user:1", "seen", value)
    raw.hset("attempts", "follow:2:1:abc", value)
    raw.zadd("outbox", {"follow:2:1:abc": LONG_AGO})
    raw.hset("post:4", "user_id", value)
    raw.hset("post:3", mapping=dict.fromkeys(("time", "reply_to", "root", "reply_to_user", "likes"), value))
    raw.hset("post:2", "deleted", value)
    raw.set(f"idem:1:{TOKEN}", value, ex=900)
    raw.zadd("throttle:post:1", {value: LONG_AGO})
    raw.expire("throttle:post:1", 900)
    raw.set("schema", value)


def add_jobs(raw, value):
    """A job of every kind with a bad id."""
    for kind in ("user", "name", "auth", "gone", "post", "fan", "del", "restore", "lists", "follow"):
        raw.zadd("outbox", {kind.encode() + b":" + value + b":1:abc": LONG_AGO})


def set_scores(raw, score):
    """A score that is no time in every sorted set, for members that exist."""
    for key in SETS + RANKED:
        for member in raw.zrange(key, 0, 0):
            raw.zadd(key, {member: score})


PAGES = [
    *("/", "/?before=9", "/new/?after=1", "/timeline/", "/timeline/?before=9", "/people/", "/people/?by=followers"),
    *("/people/?q=a", "/@Alice/", "/@Alice/?before=9", "/@bob/", "/@Alice/followers/", "/@bob/following/"),
    *("/@Alice/followers/?show=mutual", "/@Alice/1/", "/@Alice/2/", "/@Alice/3/", "/@bob/4/", "/timeline/atom/"),
    *("/timeline/rss/", "/@Alice/atom/", "/sitemap.xml", "/sitemap-people.xml", "/settings/", "/settings/download/"),
    *("/livez", "/readyz"),
]
DAMAGES = {"members and entries": add_members, "fields and strings": add_fields, "jobs": add_jobs}
CASES = cases(list(product(DAMAGES, NOT_IDS)), list(zip(cycle(DAMAGES), NOT_IDS)))


@pytest.fixture
def damaged(site, request):
    """A healthy site with one bad value in many places."""
    damage, value = request.param
    DAMAGES[damage](site, NOT_IDS[value])
    Memory.clear_all()
    return site


def body_of(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def visits(clients):
    """Each page by each of the clients, in nightly runs. Else each page once, by one of them in turn."""
    return cases(list(product(clients, PAGES)), list(zip(cycle(clients), PAGES)))


def walk(*clients):
    for client, page in visits(clients):
        answer = client.get(page)
        body_of(answer)
        assert answer.status_code < 500, page
    Memory.clear_all()


@pytest.mark.parametrize("damaged", CASES, indirect=True, ids=" ".join)
def test_every_page_and_form_answers_and_shows_what_is_good(damaged, browser, alice, bob, settings, caplog):
    stranger = browser()
    stranger.cookies[settings.AUTH_COOKIE] = SECRET
    walk(browser(), browser(alice), browser(bob), stranger)
    for page in ("/timeline/", "/@Alice/", "/@Alice/atom/"):
        shown = browser().get(page).content.decode()
        assert "First" in shown
        assert "Third" in shown
    home = browser(bob).get("/").content.decode()
    assert "First" in home
    assert "Third" in home
    assert "bob" in browser().get("/@Alice/followers/").content.decode()
    form = {"body": "Fifth", "token": TOKEN}
    assert browser(alice).post("/post/", form).status_code == 302
    assert browser(alice).post("/@bob/follow/").status_code == 302
    assert browser(bob).post("/@Alice/unfollow/").status_code == 302
    assert "Fifth" in browser(alice).get("/").content.decode()
    lines = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
    assert [line for line, times in Counter(lines).items() if times > 1] == []
    assert all("manage.py doctor" in line and len(line) < 300 for line in lines)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("damaged", CASES, indirect=True, ids=" ".join)
def test_the_worker_and_the_commands_end_well(damaged, browser, bob, capsys, tmp_path):
    call_command("deliver", "--once")
    export(tmp_path / "site.jsonl", damaged=True)
    assert '"Third"' in (tmp_path / "site.jsonl").read_text()
    for lease in damaged.keys("lease:*"):
        damaged.delete(lease)  # as when they have expired
    assert doctor(capsys)[0] == 1
    mends_all(capsys)
    call_command("cleanup")
    assert "Third" in browser(bob).get("/").content.decode()
    damaged.flushall()
    call_command("import", str(tmp_path / "site.jsonl"))
    assert damaged.hget("post:3", "body") == "Third"


@pytest.mark.parametrize("score", INFINITE)
def test_a_score_that_is_no_time_is_no_error_and_is_repaired(site, browser, alice, bob, capsys, tmp_path, score):
    set_scores(site, score)
    Memory.clear_all()
    walk(browser(), browser(alice), browser(bob))
    call_command("deliver", "--once")
    export(tmp_path / "site.jsonl", damaged=True)
    assert doctor(capsys)[1][VALUES]
    mends_all(capsys)


def test_a_bad_value_is_logged_once_with_its_key_and_the_fix(site, browser, caplog):
    site.zadd("updates:1", {"x" * 300: 9})
    for _ in range(3):
        Memory.clear_all()
        browser().get("/@Alice/")
    [record] = [record for record in caplog.records if record.name == "retwis.store"]
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        f"updates:1 has a bad value, which is skipped: '{'x' * 40}'. See it with: manage.py doctor"
    )


def test_the_bad_values_that_a_process_logs_are_limited(site, browser, caplog, monkeypatch):
    monkeypatch.setattr("retwis_site.store.ids.MOST_LOGGED", 3)
    site.zadd("followers:1", {f"x{number}": number for number in range(9)})
    browser().get("/@Alice/followers/")
    assert len([record for record in caplog.records if record.name == "retwis.store"]) == 3


def test_doctor_tells_the_key_and_the_value_and_keeps_what_it_removes(site, capsys):
    site.zadd("following:1", {b"\xff": 7, "x": 8})
    site.hset("auths", SECRET, "nobody")
    site.lpush("posts:2", "?")
    before = everything(site)["posts:2"]
    _, report = report_of(capsys)
    [found] = [one for one in report["errors"] if one["check"] == VALUES]
    assert sorted(found["examples"]) == [
        "auths has 'nobody'",
        "following:1 has 'x'",
        "following:1 has '\N{REPLACEMENT CHARACTER}'",
        "posts:2 has '?'",
    ]
    assert SECRET not in str(report)  # an entry of `auths` may be somebody's secret
    assert doctor(capsys, "--fix")[0] == 0
    assert not site.exists("following:1")
    assert site.hgetall("damaged:following:1:values") == {"\N{REPLACEMENT CHARACTER}": "7.0", "x": "8.0"}
    assert site.hgetall("damaged:auths:values") == {SECRET: "nobody"}
    assert site.lrange("damaged:posts:2", 0, -1) == before
    for key in ("damaged:following:1:values", "damaged:auths:values", "damaged:posts:2"):
        assert 0 < site.ttl(key) <= 30 * 24 * 3600


@pytest.mark.parametrize("value", ["{", "no JSON", "[" * 100_000], ids=["half", "letters", "nested"])
@pytest.mark.parametrize(("key", "field"), [("user:1", "facts"), ("user:1", "verified_links"), ("user:1", "appeal")])
def test_a_field_that_is_no_json_is_named_and_kept_elsewhere(site, browser, key, field, value, capsys):
    site.hset(key, field, value)
    assert browser().get("/@Alice/").status_code == 200
    finds_and_mends(capsys, {VALUES: 1})
    assert not site.hexists(key, field)
    assert site.hgetall(f"damaged:{key}:values") == {field: value}


@pytest.mark.parametrize(("score", "right"), [("-5", 0), ("-inf", 0), ("1e300", LARGEST_ID), ("inf", float("inf"))])
def test_an_end_that_is_no_time_is_named_and_becomes_the_nearest(site, browser, alice, score, right, capsys):
    site.zadd("muted_words:1", {"home hide spam": score})
    assert browser(alice).get("/settings/words/").status_code == 200
    found = doctor(capsys, "--fix")[1]
    assert found == ({} if score == "inf" else {VALUES: 1})
    assert site.zscore("muted_words:1", "home hide spam") in ({right} if right else {None})  # what has ended goes
    assert doctor(capsys) == (0, {}, {})


def test_the_author_of_a_post_is_repaired_from_the_list_of_their_posts(site, capsys):
    site.hset("post:3", "user_id", "nobody")
    assert doctor(capsys, "--fix")[0] == 0
    assert site.hget("post:3", "user_id") == str(ALICE)
    assert site.zscore("updates:1", "3") == 3


@pytest.mark.parametrize("address", ["/@bob/", "/", "/@carol/followers/"])
def test_a_page_that_is_short_of_a_bad_value_leads_to_the_next_one(site, browser, bob, address):
    for number in range(10, 50):
        site.hset(f"post:{number}", mapping={"user_id": BOB, "time": number, "body": f"number {number}"})
        site.hset(f"user:{number}", "username", f"number {number}")
    for key in ("updates:2", "followers:3"):
        site.zadd(key, {str(number): number for number in range(10, 50)} | {"x": 40.5, "y": 20.5})
    site.delete("posts:2")
    site.rpush("posts:2", "b0", "-45", *range(49, 44, -1))  # below 45, home reads the posts of each followed user
    found, page = set(), address
    while page:
        shown = browser(bob).get(page).content.decode()
        found |= set(re.findall(r"number (\d+)", shown))
        cursors = re.findall(r'href="[^"]*(\?before=[\d-]+)"', shown)
        page = f"{address}{cursors[-1]}" if cursors else None
    assert found == {str(number) for number in range(10, 50)}


@pytest.mark.parametrize("value", [b"x", b"\xff", b"9" * 5000, b"", b"9223372036854775807"])
@pytest.mark.parametrize("counter", ["next_post_id", "next_user_id"])
def test_with_a_bad_counter_pages_are_shown_and_a_form_is_a_503(site, browser, alice, capsys, counter, value):
    site.set(counter, value)
    walk(browser(), browser(alice))
    if counter == "next_post_id":
        form = {"body": "Fifth", "token": TOKEN}
        assert browser(alice).post("/post/", form).status_code == 503
    assert doctor(capsys) == (1, {COUNTERS: 1}, {})
    if counter == "next_post_id":
        site.delete("timeline")
        assert browser().get("/timeline/").status_code == 503
    assert doctor(capsys, "--fix")[0] == 0
    assert site.get(counter) == ("4" if counter == "next_post_id" else "3")
    assert "Third" in browser().get("/timeline/").content.decode()


WRONG_TYPES = [
    *("users", "user:1", "auths", "users_by_time", "users_by_name", "users_by_followers", "following:2", "followers:1"),
    *("post:3", "posts:1", "timeline", "updates:1", "likes:1", "liked_by:1", "outbox", "attempts", "set_aside"),
    *("next_user_id", "next_post_id", "schema", "recent", "timeline:3", "outbox:3"),
]


@pytest.mark.parametrize("key", WRONG_TYPES)
def test_a_key_of_the_wrong_type_ends_in_a_503_and_in_no_traceback(site, browser, alice, key, capsys, tmp_path):
    site.delete(key)
    site.sadd(key, "x")
    Memory.clear_all()
    for client, page in visits((browser(), browser(alice))):
        answer = client.get(page)
        body_of(answer)
        assert answer.status_code in {200, 204, 302, 404, 410, 503}, page
    for command in (["deliver", "--once"], ["cleanup"], ["export", str(tmp_path / "site.jsonl")]):
        with contextlib.suppress(CommandError, SystemExit):
            call_command(*command)
    code, report = report_of(capsys)
    assert code == 1
    assert any(f"{key} is a set" in example for one in report["errors"] for example in one["examples"])
    report_of(capsys, "--fix")
    assert site.type(f"damaged:{key}") == "set"
    assert 0 < site.ttl(f"damaged:{key}") <= 30 * 24 * 3600
    assert doctor(capsys)[0] == 0


# ---- other commands that read a store


@pytest.mark.parametrize("value", ["letters", "thousands of digits", "zero"])
def test_a_copy_has_the_bad_values_too(raw, source, capsys, value):
    add_members(source.raw, NOT_IDS[value])
    add_jobs(source.raw, NOT_IDS[value])
    copy(source)
    assert everything(raw) == keys_to_copy(source.raw)
    mends_all(capsys)


@pytest.mark.parametrize("value", NOT_IDS)
def test_an_official_database_with_bad_values_is_shown_and_adopted(raw, client, settings, capsys, value):
    php = make_official_database(raw)
    bad = NOT_IDS[value]
    raw.hset("users", "ghost", bad)
    raw.hset("auths", SECRET, bad)
    raw.zadd("following:1", {bad: 5})
    raw.zadd("followers:1", {bad: "inf"})
    raw.zadd("users_by_time", {bad: "inf"})
    raw.hset("post:30", "user_id", bad)
    raw.lpush("posts:1", bad)
    raw.lpush("timeline", bad)
    client.cookies[settings.AUTH_COOKIE] = php.secret(AMELIA)
    for page in ("/", "/timeline/", "/@Amelia/", "/@Amelia/followers/", "/people/", "/sitemap-people.xml"):
        assert client.get(page).status_code == 200
    call_command("adopt", "--dry-run")
    call_command("adopt")
    assert doctor(capsys)[:2] == (0, {})
    assert raw.zrange("following:1", 0, -1) == ["2"]
    assert "Post number 28" in client.get("/").content.decode()


def test_short_lists_are_read_fifty_together_and_a_long_one_to_its_end(raw, store, round_trips):
    homes = [f"posts:{uid}" for uid in range(1, 101)]
    for home in homes:
        raw.rpush(home, 1, 2)
    raw.rpush(homes[0], *range(3, AT_ONCE + 3), "no id")
    found = []
    recorded = round_trips(lambda: found.extend(KeyChecks(store).values().find(homes)))
    assert len(recorded.round_trips) == 2 + 1
    assert [finding.what for chunk in found for finding in chunk] == ["posts:1 has 'no id'"]
