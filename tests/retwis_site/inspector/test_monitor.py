"""The inspector's numbers are those of the server: the commands that its MONITOR sees."""

import re
from itertools import takewhile

import pytest

from tests.support.stored_posts import write_posts
from tests.support.texts.inspector import inspector
from timeline.relations.relations import Follows

pytestmark = [pytest.mark.usefixtures("inspected"), pytest.mark.real_server, pytest.mark.in_order]

LAST = "the end of what is monitored"


def monitored(raw, call):
    """The commands that the server gets while `call` runs, in order, and its result. AUTH is the administrator's."""
    with raw.monitor() as monitor:
        result = call()
        raw.echo(LAST)
        lines = takewhile(lambda line: LAST not in line["command"], monitor.listen())
        sent = [line["command"].split(" ") for line in lines]
    return [(name.upper(), key) for name, key, *_ in sent if name != "AUTH"], result


def listed(response):
    """The commands of a page, with their keys."""
    return [tuple(command.split(" ")[:2]) for step in inspector(response).commands for command in step]


@pytest.fixture
def client(browser, raw, store, alice, bob):
    Follows(store).follow(1, 2)
    Follows(store).follow(2, 1)
    write_posts(raw, 2, range(1, 30))
    client = browser(alice)
    client.get("/")  # the connection is open, and its first commands are sent
    return client


@pytest.mark.parametrize("path", ["/", "/@bob/", "/@bob/1/", "/timeline/", "/search/?q=post", "/explore/", "/people/"])
def test_a_page_lists_what_the_server_got_in_the_same_order(client, raw, path):
    seen, page = monitored(raw, lambda: client.get(path))
    assert listed(page) == seen
    assert inspector(page).numbers[0] == len(seen)


def test_the_page_after_a_post_too(client, raw):
    seen_of_post, _ = monitored(raw, lambda: client.post("/post/", {"body": "hello", "token": "t1"}))
    seen, page = monitored(raw, lambda: client.get("/"))
    [(_, hidden), *rest] = listed(page)
    assert hidden == "inspected:•••"
    assert rest == seen[1:]
    *own, last = seen_of_post
    assert last[0] == "SET"  # the record itself
    assert last[1].startswith("inspected:")
    assert inspector(page).headings[0].startswith(f"Your post: {len(own)} commands, ")


def traffic(raw):
    """The bytes that the server has got and has sent."""
    stats = raw.info("stats")
    return stats["total_net_input_bytes"], stats["total_net_output_bytes"]


def test_the_bytes_are_those_of_the_server(client, raw):
    first, before = traffic(raw), traffic(raw)
    page = client.get("/")
    after = traffic(raw)
    of_question = [second - first for first, second in zip(first, before, strict=True)]
    shown = re.findall(r"Round trip: .*?, (\d+) bytes sent, (\d+) bytes received", page.content.decode())
    sent, received = (sum(map(int, numbers)) for numbers in zip(*shown, strict=True))
    of_page = [end - begin - asked for begin, end, asked in zip(before, after, of_question, strict=True)]
    assert sent == of_page[0]
    assert received == pytest.approx(of_page[1], abs=20)  # the question's own answer has numbers that grow
