"""`doctor` and `check` say that a clock is wrong: with POST_IDS=snowflake, and where it is not that of the store."""

import json
import time

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from retwis_site.maintenance import server_advice
from retwis_site.store import snowflake
from retwis_site.store.snowflake import Snowflakes
from tests.support.clock import Clock
from tests.support.command_output import refuses
from tests.support.people import register
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

pytestmark = pytest.mark.usefixtures("snowflakes")


def advice(capsys):
    capsys.readouterr()
    call_command("doctor", "--json")
    return {one["id"]: one["text"] for one in json.loads(capsys.readouterr().out)["advice"]}


@pytest.fixture
def never_set(monkeypatch):
    monkeypatch.setattr(snowflake, "_process", Snowflakes(0, clock=lambda: 0))


def test_doctor_says_that_the_clock_of_this_machine_is_wrong(store, capsys, never_set):
    assert "clock says 1970-01-01" in advice(capsys)["retwis.E005"]


def test_check_fails_with_a_wrong_clock_and_names_the_fix(never_set):
    with pytest.raises(SystemCheckError, match=r"(?s)retwis\.E005.*clock says 1970-01-01.*HINT: Set the clocks"):
        call_command("check")


def test_counted_ids_need_no_clock(store, capsys, never_set, settings):
    settings.POST_IDS = "incr"
    call_command("check")
    assert "retwis.E005" not in advice(capsys)


def test_doctor_says_that_a_post_has_an_id_of_a_time_that_has_not_come(store, capsys, monkeypatch):
    alice = register(store, "Alice")
    Posts(store).publish(alice.user.uid, NewPost("Now"), "t")
    assert not {"retwis.E005", "retwis.W016"} & advice(capsys).keys()
    ahead = Snowflakes(0, clock=lambda: snowflake.time.time() + 3600)
    monkeypatch.setattr(snowflake, "_process", ahead)
    pid = Posts(store).publish(alice.user.uid, NewPost("In an hour"), "u").pid
    assert f"post {pid} is of a time that has not come" in advice(capsys)["retwis.W016"]


@pytest.mark.real_server
@pytest.mark.parametrize(("seconds", "words"), [(120, "s ahead of"), (-120, "s behind")])
def test_doctor_compares_the_clock_of_this_machine_with_that_of_the_store(store, capsys, monkeypatch, seconds, words):
    assert "retwis.W022" not in advice(capsys)
    clock = Clock()
    clock.now = time.time() + seconds
    monkeypatch.setattr(server_advice, "time", clock)
    assert f"{words} the server's" in advice(capsys)["retwis.W022"]


def test_no_clock_is_called_wrong_for_a_late_answer_or_five_seconds_or_without_the_servers_time():
    info = {"server_time_usec": 1_000_000_000_000_000}  # at the second 10**9
    assert [*server_advice._other_clock(info, 10**9 - 60, 10**9 + 60)] == []
    assert [*server_advice._other_clock(info, 10**9 + 5, 10**9 + 5)] == []
    assert [*server_advice._other_clock({}, 10**9, 10**9)] == []  # the server does not tell its time


def test_a_command_that_makes_a_user_ends_with_one_line(store, never_set, monkeypatch):
    monkeypatch.setattr("sys.stdin.readline", lambda: "correct horse battery\n", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    refuses(r"clock says 1970-01-01; .*Set the clock\.$", "createuser", "dora")
