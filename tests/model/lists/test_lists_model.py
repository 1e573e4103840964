"""A cached list that counts as complete lacks no post: every interleaving of pages and writers, with deaths."""

from dataclasses import dataclass, replace
from functools import partial

import pytest

from retwis_site.store import cached_list
from retwis_site.store.cached_list import ListContent
from tests.model.core import Database, Explorer, Process, Result, alone
from tests.model.lists.protocol import (
    FOLLOWING,
    LIST,
    SIZES,
    DroppedByTheLate,
    ListProtocol,
    WithoutLabels,
    parse_head,
    parse_whole,
    updates,
)
from tests.support.protocols.thoroughness import cases, tries_all

BO, CY = 2, 3
OLD = range(1, 21)  # posts of Bo
NEW = 41  # the id of the first new post
LATER = range(50, 70)  # posts that come after the end: more than the list keeps

LISTS = {
    "no list": (),
    "a rebuild that has died": ("bz",),
    "a complete list": ("20", "bz", "-7", "bz:", *map(str, range(19, 6, -1))),
    "a list whose rebuild was cut off": tuple(map(str, range(20, 6, -1))),
    "a list of the time before the labels": ("20", "bz", "-7", *map(str, range(19, 6, -1))),
}


@dataclass(frozen=True)
class Scenario:
    """`actions`: methods of `ListProtocol` and what they are given. "head" and "whole" are pages: the first one, and
    one below it. `tries`: how often a page begins a rebuild."""

    actions: tuple[tuple, ...]
    lists: tuple[str, ...] = ("no list", "a complete list")
    tries: int = 1
    crashes: int = 2


POST, POST_OF_CY = ("publish", BO, NEW), ("publish", CY, NEW)
FIRST, SECOND, BELOW = ("head", "a"), ("head", "b"), ("whole", "b")
SCENARIOS = {
    "two pages || a post": Scenario((FIRST, BELOW, POST), tuple(LISTS), tries=3),
    "two pages || two posts": Scenario((FIRST, SECOND, POST, ("publish", BO, NEW + 1))),
    "two pages || a follow || a post": Scenario((FIRST, BELOW, ("follow", CY), POST)),
    "two pages || a follow || a post of who is followed": Scenario((FIRST, SECOND, ("follow", CY), POST_OF_CY)),
    "two pages || a deletion || a post": Scenario((FIRST, SECOND, ("remove_dead", BO, 20), POST)),
    "two pages that try twice || a follow": Scenario((FIRST, BELOW, ("follow", CY)), tuple(LISTS), tries=2),
    "three pages || a post": Scenario((FIRST, SECOND, ("head", "c"), POST), crashes=0),
}
# The others have ten times as many states.
QUICK = {
    "two pages || a post",
    "two pages || a follow || a post",
    "two pages || a follow || a post of who is followed",
    "two pages that try twice || a follow",
}


@pytest.fixture(autouse=True)
def small_lists(monkeypatch):
    for name, size in SIZES.items():
        monkeypatch.setattr(cached_list, name, size)


def begin(entries: tuple[str, ...]) -> Database:
    db: Database = {
        FOLLOWING: ("z", ((BO, 1),)),
        updates(BO): ("z", tuple((pid, pid) for pid in sorted(OLD, key=str))),
        updates(CY): ("z", ((30, 30), (31, 31))),
    }
    return db | ({LIST: ("l", entries)} if entries else {})


def processes(protocol: ListProtocol, actions: tuple[tuple, ...]) -> list[Process]:
    """A page may die at any command. What an author or a follower leaves, a worker finishes: they do not die here."""
    pages = {"head": parse_head, "whole": parse_whole}
    return [
        Process(f"{what} {given}", partial(protocol.read, *given, pages[what]))
        if what in pages
        else Process(f"{what} {given}", partial(getattr(protocol, what), *given), can_die=False)
        for what, *given in actions
    ]


def explored(protocol: ListProtocol, entries: tuple[str, ...], scenario: Scenario) -> Result:
    explorer = Explorer(processes(protocol, scenario.actions), begin(entries), scenario.crashes)
    return explorer.explore(lambda db, died: errors_in(protocol, db))


def errors_in(protocol: ListProtocol, db: Database) -> list[str]:
    """What the list lacks at the end, and after each of some later posts. A page that nobody disturbs repairs it."""
    repaired = parse_whole(entries_of(alone(db, protocol.read("last", parse_whole))))
    errors = lacking(db)
    for pid in LATER:
        db = alone(db, protocol.publish(BO, pid))
        errors |= {f"{error}, after later ones" for error in lacking(db)}
    return sorted(errors) if repaired.complete else [*sorted(errors), "a page leaves an incomplete list"]


def entries_of(db: Database) -> tuple[str, ...]:
    return db.get(LIST, ("l", ()))[1]


def lacking(db: Database) -> set[str]:
    followed = [author for author, _ in db[FOLLOWING][1]]
    posts = {pid for author in followed for pid, _ in db[updates(author)][1]}
    contents = {"head": parse_head(entries_of(db)), "list": parse_whole(entries_of(db))}
    return {f"the {what} lacks a post" for what, content in contents.items() if lacks(content, posts)}


def lacks(content: ListContent, posts: set[int]) -> bool:
    return content.complete and not {pid for pid in posts if pid >= content.complete_down_to} <= set(content.ids)


EVERY = [(name, entries) for name, scenario in SCENARIOS.items() for entries in scenario.lists]
SOME = [(name, entries) for name, entries in EVERY if name in QUICK]


@pytest.mark.parametrize(("name", "entries"), cases(EVERY, SOME))
def test_a_complete_list_lacks_no_post(name, entries, monkeypatch):
    """`make test` explores some of them, without deaths and with one try, which is a hundredth of the states."""
    scenario = SCENARIOS[name] if tries_all() else replace(SCENARIOS[name], crashes=0, tries=1)
    monkeypatch.setattr(cached_list, "REBUILD_TRIES", scenario.tries)
    result = explored(ListProtocol(), LISTS[entries], scenario)
    assert result.errors == {}
    assert result.complete
    assert result.ends


DRAFTS = [(WithoutLabels, 0), (DroppedByTheLate, 1)]  # a death makes five times as many states


@pytest.mark.parametrize(("draft", "deaths"), cases(DRAFTS, DRAFTS[:1]))
def test_an_early_draft_of_the_rebuild_fails(draft, deaths):
    scenario = replace(SCENARIOS["two pages || a post"], crashes=deaths)
    errors = explored(draft(), LISTS["no list"], scenario).errors
    assert "the head lacks a post" in errors
