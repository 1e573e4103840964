"""Each page ends with what it has sent to Redis. After a form, it also shows what the form and the worker have sent."""

import re

import pytest
from django.urls import reverse

from retwis_site.inspector.changes import COOKIE
from retwis_site.inspector.middleware import rows
from retwis_site.jobs.worker import drain
from retwis_site.store import kinds
from retwis_site.store.connection import recorder
from tests.support.pictures import uploaded
from tests.support.stored_posts import write_posts
from tests.support.texts.inspector import inspector
from timeline.relations.relations import Follows

PAGES = ("/", "/@bob/", "/@bob/1/", "/timeline/", "/settings/", "/notifications/", "/nowhere/")

NO_PAGES = ("/notifications/number/", "/@Alice/atom/", "/robots.txt", "/livez", "/complete/?q=@al")

pytestmark = pytest.mark.usefixtures("inspected")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_ends_with_the_commands_that_it_has_sent(browser, raw, store, alice, bob, round_trips, path):
    Follows(store).follow(1, 2)
    write_posts(raw, 2, [1, 2])
    pages = []
    recorded = round_trips(lambda: pages.append(browser(alice).get(path)))
    shown = inspector(pages[0])
    assert shown.numbers == (len(recorded.commands), len(recorded.round_trips))
    assert [[command.split()[0] for command in step] for step in shown.commands] == [
        [command[0] for command in round_trip.commands] for round_trip in recorded.round_trips
    ]


def test_the_line_says_commands_round_trips_and_milliseconds(member):
    member.get("/settings/")
    shown = inspector(member.get("/settings/"))
    assert shown.summary == f"5 commands, 1 round trip, {shown.milliseconds} ms"


def test_each_key_is_a_link_and_each_command_names_its_method_and_complexity(browser, alice):
    page = browser(alice).get("/").content.decode()
    command = '<code>LRANGE <a href="/inspect/posts:1">posts:1</a> 0 100</code>'
    assert f"<li>{command}<code>home._ask</code><code>O(S+N)</code></li>" in page


def test_a_key_is_quoted_in_its_address(browser, alice):
    page = browser(alice).get(reverse("tag", args=["ça"])).content.decode()
    assert '<a href="/inspect/tag:%C3%A7a"' in page


@pytest.mark.parametrize("path", NO_PAGES)
def test_what_is_no_whole_page_stays_as_it_is(browser, alice, settings, path):
    inspected = browser(alice).get(path)
    settings.INSPECT = False
    plain = browser(alice).get(path)
    assert inspected.content == plain.content
    assert inspected.headers.keys() == plain.headers.keys()


def test_a_page_says_how_long_it_is_with_its_inspector(browser, alice):
    answer = browser(alice).get("/settings/")
    assert int(answer["Content-Length"]) == len(answer.content)


def test_a_page_without_a_command_says_so(browser):
    client = browser()
    client.get("/login/")
    assert inspector(client.get("/login/")).summary == "0 commands, 0 round trips, 0.0 ms"


def test_the_rows_of_each_viewer_have_their_own_ids(browser, alice, bob):
    for login, uid in ((alice, 1), (bob, 2), (alice, 1)):
        page = inspector(browser(login).get("/settings/"))
        commands = [command for step in page.commands for command in step]
        assert {f"user:{uid}", f"notices:{uid}"} <= {command.split()[1] for command in commands}
        assert not [command for command in commands if f":{3 - uid}" in command]


def test_each_scan_has_its_own_cursor():
    assert [b"SCAN  %d " % cursor in rows((("SCAN", cursor, "COUNT", 500),)) for cursor in (0, 2916)] == [True, True]


def test_a_page_of_very_many_commands_lists_the_first_and_counts_all(member, monkeypatch):
    monkeypatch.setattr(recorder, "MOST_KEPT", 3)
    answer = member.get("/")
    page, shown = answer.content.decode(), inspector(answer)
    headings = [int(number) for number in re.findall(r"Round trip: (\d+) command", page)]
    assert sum(headings) == shown.numbers[0] > sum(map(len, shown.commands)) == 3
    assert "The other commands are not listed." in page


# ---- after a form


def test_after_a_post_the_next_page_shows_what_the_post_has_sent(member):
    recorded_pages = [member.post("/post/", {"body": "hello", "token": "t1"}), member.get("/"), member.get("/")]
    assert inspector(recorded_pages[0]) is None
    first, second = map(inspector, recorded_pages[1:])
    assert first.summary.partition(" ms ")[2].startswith("Your post: ")
    assert "round trips, 1 push to homes" in first.summary
    assert len(first.headings) == 2
    assert "Your post" not in second.summary
    assert COOKIE not in member.cookies or not member.cookies[COOKIE].value


def test_the_numbers_of_a_post_are_those_of_its_request(member, round_trips):
    recorded = round_trips(lambda: member.post("/post/", {"body": "hello", "token": "t1"}))
    own = recorded.round_trips[:-1]  # the last one keeps the record
    assert [command[0] for command in recorded.round_trips[-1].commands] == ["SET"]
    number = sum(len(round_trip.commands) for round_trip in own)
    assert inspector(member.get("/")).headings[0].startswith(f"Your post: {number} commands, {len(own)} round trips, ")


def test_what_a_page_reads_of_the_last_form_counts_as_its_own(member, round_trips):
    member.post("/post/", {"body": "hello", "token": "t1"})
    pages = []
    recorded = round_trips(lambda: pages.append(member.get("/")))
    shown = inspector(pages[0])
    assert shown.numbers == (len(recorded.commands), len(recorded.round_trips))
    assert shown.commands[0] == ["GET inspected:•••"]


def test_a_page_without_a_form_before_it_reads_no_record(browser, alice, round_trips):
    recorded = round_trips(lambda: browser(alice).get("/"))
    assert not [command for command in recorded.commands if str(command[1]).startswith("inspected:")]


def test_what_the_worker_sends_for_a_post_is_shown_too(store, raw, settings, member, bob, carol):
    settings.DELIVER_INLINE_LIMIT = 1
    for uid in (2, 3):
        Follows(store).follow(uid, 1)
        raw.rpush(f"posts:{uid}", "-0")
    member.post("/post/", {"body": "hello", "token": "t1"})
    waiting = inspector(member.get("/"))
    assert waiting.summary.endswith("1 push to homes, a worker has not finished yet")
    drain(store, "a worker")
    done = inspector(member.get("/"))
    assert done.summary.endswith("3 pushes to homes")
    assert done.headings[1].startswith("The worker, job fan: ")
    assert "Your post" not in inspector(member.get("/")).summary


@pytest.mark.usefixtures("quick_decoder")
def test_a_job_of_tomorrow_is_not_waited_for(raw, member):
    member.post("/settings/", {"name": "Ann", "bio": "", "picture": uploaded()})
    assert [job.split(":")[0] for job in raw.zrange("outbox", 0, -1)] == ["picture"]
    assert not inspector(member.get("/")).summary.endswith("a worker has not finished yet")
    assert "Your last change" not in inspector(member.get("/")).summary


@pytest.mark.indexed
def test_jobs_that_a_worker_does_together_share_their_numbers(store, member):
    for body in ("one", "two"):
        member.post("/post/", {"body": body, "token": body})
    drain(store, "a worker")
    [_, job, _] = inspector(member.get("/")).headings
    assert job.startswith("The worker, job index: ")
    assert job.endswith("together with 1 other job")


def test_another_change_has_its_own_words(member, bob):
    member.post("/@bob/follow/")
    assert ". Your last change: " in inspector(member.get("/@bob/")).summary.replace(" ms ", ". ")


def test_a_form_with_errors_is_a_page_of_its_own(browser, raw, alice):
    answer = browser(alice).post("/post/", {"body": "", "token": "t1"})
    assert answer.status_code == 422
    assert inspector(answer)
    assert not raw.keys("inspected:*")


def test_a_record_expires_after_a_minute(browser, raw, alice, bob):
    browser(alice).post("/@bob/follow/")
    [key] = raw.keys("inspected:*")
    assert 0 < raw.ttl(key) <= 60


def test_a_cookie_of_somebody_else_shows_nothing(browser, raw, alice, bob, round_trips):
    browser(alice).post("/@bob/follow/")
    [key] = raw.keys("inspected:*")
    client = browser(bob)
    client.cookies[COOKIE] = f"{key.removeprefix('inspected:')}:forged"
    recorded = round_trips(lambda: client.get("/"))
    assert not [command for command in recorded.commands if str(command[1]).startswith("inspected:")]


@pytest.mark.parametrize("stored", ["", "x", "[]", "[1, 2]", '["publish", 1, 1, 1, 0, 0, [[1]]]', '{"a": 1}', "null"])
def test_a_record_that_is_none_is_passed_over(raw, member, bob, stored):
    member.post("/@bob/follow/")
    [key] = raw.keys("inspected:*")
    raw.set(key, stored, ex=60)
    answer = member.get("/")
    assert answer.status_code == 200
    assert "Your last change" not in inspector(answer).summary


@pytest.mark.real_server
def test_without_the_right_to_the_key_pages_and_forms_work(member, bob, rights):
    rights("resetkeys", *(f"~{kind.pattern}" for kind in kinds.KINDS.values() if kind.word != "inspected"))
    assert member.post("/@bob/follow/").status_code == 302
    assert member.get("/").status_code == 200


def test_posts_are_pushed_into_the_homes_of_followers(raw, store, member, bob):
    Follows(store).follow(2, 1)
    write_posts(raw, 1, [1])
    member.post("/post/", {"body": "hello", "token": "t1"})
    assert "2 pushes to homes" in inspector(member.get("/")).summary
