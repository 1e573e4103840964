"""Each page ends with what it has sent to Redis."""

import re

import pytest
from django.urls import reverse

from retwis_site.inspector.middleware import rows
from retwis_site.store.connection import recorder
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
