"""The sessions of the book, replayed on a real server: each reply is what redis-cli prints.

`REWRITE_BOOK=1` writes the replies of the server into the chapters instead."""

import os
import re
import shutil
import subprocess

import pytest
from django.conf import settings

from accounts.users.accounts import Registration
from tests.support.book import pages
from tests.support.book.redis_cli import RedisCli
from tests.support.book.situations import SITUATIONS, happen
from tests.support.stores.acl_users import ADMIN, PASSWORDS
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Bookmarks, Follows, Likes

pytestmark = [pytest.mark.real_server, pytest.mark.one_server, pytest.mark.indexed]

REWRITE = bool(os.environ.get("REWRITE_BOOK"))


@pytest.fixture
def cli(raw):
    with RedisCli(f"{settings.STORE_DIR}/redis.sock", ADMIN, PASSWORDS[ADMIN]) as cli:
        yield cli


@pytest.mark.parametrize("name", pages.names())
def test_a_server_replies_as_the_chapter_says(name, raw, store, cli, monkeypatch):
    for session in pages.sessions(name):
        if session.situation:
            raw.flushall()
            happen(session.situation, store, monkeypatch)
        exchanges = [(command, cli.printed(command)) for command, _ in session.exchanges]
        if REWRITE:
            rewrite(name, session, exchanges)
        else:
            assert exchanges == session.exchanges


def rewrite(name, session, exchanges):
    file = pages.file_of(name)
    fence = f"```redis {session.situation}".rstrip()
    text = "".join(f"> {command}\n{reply}\n" for command, reply in exchanges)
    file.write_text(file.read_text().replace(f"{fence}\n{session.text}```", f"{fence}\n{text}```", 1))


def test_the_first_session_of_each_chapter_names_a_situation():
    assert [name for name in pages.names() if pages.sessions(name)[0].situation not in SITUATIONS] == []


NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
# What a chapter says of an act with a number of round trips, and the act of bob, who follows no one yet.
SAID = {
    ("unique-names", "takes {} round trips here"): lambda store: Registration(store).register("dora", "hash"),
    ("sorted-sets", "| a follow | two commands | {} round trips:"): lambda store: Follows(store).follow(2, 1),
    ("one-commit-point", "without followers | six | {} |"): lambda store: Posts(store).publish(
        2, NewPost("Tea"), "token"
    ),
    ("relations-and-counts", "| two | some forty, in {} round trips |"): lambda store: Likes(store).like(2, 1, 1),
    ("relations-and-counts", "\n{} round trips.\n"): lambda store: Bookmarks(store).add(2, 1, 1),
}


@pytest.mark.parametrize(("name", "said"), SAID)
def test_an_act_takes_as_many_round_trips_as_the_chapter_says(name, said, store, alice, bob, round_trips):
    Posts(store).publish(1, NewPost("More bread"), "first")
    number = NUMBERS[len(round_trips(lambda: SAID[name, said](store)).round_trips)]
    text = pages.file_of(name).read_text()
    assert said.format(number) in text or said.format(number.capitalize()) in text, number


COMMANDS = [
    "SET greeting 'say \"hello\"'",
    "GET greeting",
    "GET nothing",
    "INCR number",
    "SET bytes caf\u00e9",
    "GET bytes",
    "RPUSH list a b c d e f g h i j",
    "LRANGE list 0 -1",
    "LRANGE nothing 0 -1",
    "HMGET greeting name",
    "ZADD zset 1.5 alice 2 bob",
    "ZRANGE zset 0 -1 WITHSCORES",
    "ZSCORE zset alice",
    "TYPE zset",
    "SCAN 0 MATCH zs* COUNT 100",
]


@pytest.mark.skipif(shutil.which("redis-cli") is None, reason="redis-cli is not installed")
@pytest.mark.parametrize("command", COMMANDS)
def test_replies_are_printed_as_redis_cli_prints_them(raw, cli, command):
    for before in COMMANDS[: COMMANDS.index(command)]:
        cli.printed(before)
    program = ["redis-cli", "-s", f"{settings.STORE_DIR}/redis.sock", "--user", ADMIN, "--pass", PASSWORDS[ADMIN]]
    said = subprocess.run(
        [*program, "--no-auth-warning", "--no-raw"], input=f"{command}\n", capture_output=True, text=True, check=True
    )
    reading = command.split()[0] not in {"INCR", "RPUSH", "ZADD"}  # these have another effect the second time
    printed = re.sub(r"\n\(\d+\.\d+s\)\n$", "\n", said.stdout)  # how long it took, where that is half a second
    assert not reading or printed.rstrip("\n") == cli.printed(command)
