"""After a form, the next page also shows what the form and the worker have sent."""

import pytest

from retwis_site.inspector.changes import COOKIE
from retwis_site.jobs.worker import drain
from retwis_site.store import kinds
from tests.support.stored_posts import write_posts
from tests.support.texts.inspector import inspector
from timeline.relations.relations import Follows

pytestmark = pytest.mark.usefixtures("inspected")


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
    rights("resetkeys", *(f"~{kind}" for kind in kinds.KINDS if kind != "inspected:*"))
    assert member.post("/@bob/follow/").status_code == 302
    assert member.get("/").status_code == 200


def test_posts_are_pushed_into_the_homes_of_followers(raw, store, member, bob):
    Follows(store).follow(2, 1)
    write_posts(raw, 1, [1])
    member.post("/post/", {"body": "hello", "token": "t1"})
    assert "2 pushes to homes" in inspector(member.get("/")).summary
