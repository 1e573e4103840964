"""Random actions of users, with killed processes: every page shows what a model of a few dicts says.

Lists and pages have a twentieth of their real size. So a few posts fill pages, cut lists, and lead below their end.
"""

import sys
import time

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from accounts.signing_in.sessions import entities
from retwis_site.management.commands import cleanup, doctor  # noqa: F401  loaded here, so that they get the clock
from retwis_site.store import cached_list, chunks
from tests.support.protocols.site.checks import CLOCK
from tests.support.protocols.site.machine import SiteMachine
from tests.support.stores.seam import examples, tries_all
from timeline.people import directory
from timeline.posts import delivery, post_ids, repository
from timeline.posts.reading import visibility
from timeline.relations import relations
from timeline.timelines import everyone, home, pagination, profile

EXAMPLES, STEPS = 40, 100  # `make test` takes a tenth, with a quarter of the steps

SIZES = {
    "KEPT": 50,
    "CUT_ABOVE": 55,
    "MAYBE_CUT_FROM": 45,
    "TRUSTED": 36,
    "MOST_PADDING": 5,
    "FIRST_READ": 12,
    "FIRST_TRUSTED": 6,
    "POSTS_A_PAGE": 3,
    "READ_MORE": 9,
    "PEOPLE_A_PAGE": 2,
    "FIRST_COMPARED": 2,
    "COMPARED": 5,  # of six names, nobody follows more: what two people have in common is exact
    "SHORTEST_SLICE": 2,
    "MOST_PROLIFIC": 1,
    "LONG_SLICE": 12,
    "MOST_CHUNKS": 2,
    "RECENT": 100,
    "NEWEST_USERS": 3,
    "FOLLOWERS_AT_ONCE": 2,
    "FOLLOWERS_READ": 3,
    "AT_ONCE": 2,
    "LATEST": 2,
}
# With several lists, each has its share of these.
SHARED = ("KEPT", "CUT_ABOVE", "MAYBE_CUT_FROM", "TRUSTED", "MOST_PADDING", "FIRST_READ", "FIRST_TRUSTED")
MODULES = (
    directory,
    chunks,
    everyone,
    home,
    post_ids,
    cached_list,
    pagination,
    repository,
    delivery,
    profile,
    visibility,
    relations,
    entities,
)


@pytest.fixture
def small_lists(layout, monkeypatch):
    """A site with small lists and pages, and a clock that the test moves."""
    for name, size in SIZES.items():
        if name in SHARED:
            size *= layout.of
        modules = [module for module in MODULES if hasattr(module, name)]
        assert modules, name
        for module in modules:
            monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(cached_list.merge, "__defaults__", (cached_list.KEPT,))
    monkeypatch.setitem(vars(entities.SESSIONS), "most", 3)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("accounts", "retwis_site", "timeline") and vars(module).get("time") is time:
            monkeypatch.setattr(module, "time", CLOCK)


def test_the_site_shows_what_its_model_shows(layout, small_lists, raw, sent, monkeypatch):
    monkeypatch.setattr(SiteMachine, "as_redis_cli", raw)
    monkeypatch.setattr(SiteMachine, "layout", layout)
    settings = hypothesis.settings(
        max_examples=examples(EXAMPLES),
        stateful_step_count=STEPS if tries_all() else STEPS // 4,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(SiteMachine, settings=settings)
    # A run of all examples has rebuilt lists, cut them and removed dead ids, and workers had jobs. With several lists
    # for the global timeline, a random run may fill none of them.
    expected = {"LINSERT", "LREM", "HINCRBY"} | ({"LTRIM"} if layout.of == 1 else set())
    assert examples(EXAMPLES) < EXAMPLES or expected <= {command[0] for command in sent.commands}
