"""The protocol of relations holds in every interleaving, also with crashes: the scenarios that are explored in seconds.

`python -m tests.model` explores all of them.
"""

import pytest

from tests.model.drafts import DRAFTS
from tests.model.protocol import Relations
from tests.model.scenarios import scenarios

BY_NAME = {scenario.name: scenario for scenario in scenarios()}
QUICK = [
    "like, finished by a second worker",
    "a like of one's own post",
    "like || unlike, none before",
    "like || like of the same edge",
    "two people like one post",
    "one person likes two posts",
    "unlike || deletion of the actor",
    "like || deletion of an actor with two likes",
    "like || deletion || expiry",
    "follow || unfollow",
    "two people follow one",
    "each follows the other",
    "block by the author || like",
    "like while muted",
    "mute || mute until later",
    "undo || undo, then repost",
    "repost || deletion || expiry",
    "bookmark || deletion of the actor",
    "mute || deletion of the actor",
    "tag follow || deletion of the actor",
]
STATES = (20_000, 300_000)  # in which the error of a draft is found: most in a few


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("name", QUICK)
def test_the_protocol_holds(name, backwards):
    """The commands of one round trip run in the order of the code, or backwards, as on several servers."""
    protocol = Relations(backwards)
    scenario = BY_NAME[name]
    result = scenario.explorer(protocol).explore(scenario.check(protocol))
    assert result.complete
    assert result.ends
    assert result.errors == {}


@pytest.mark.parametrize(("draft", "name"), DRAFTS, ids=[draft.__name__ for draft, _ in DRAFTS])
def test_an_early_draft_fails(draft, name):
    protocol = draft()
    scenario = BY_NAME[name]
    assert any(scenario.explorer(protocol).explore(scenario.check(protocol), most).errors for most in STATES)
