"""The protocol of the index holds in every interleaving, also with crashes: every post is found by its text after the
next run. All scenarios together take some ten seconds."""

import pytest

from tests.model.index.drafts import DRAFTS
from tests.model.index.protocol import Indexing
from tests.model.index.scenarios import scenarios

BY_NAME = {scenario.name: scenario for scenario in scenarios()}


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("scenario", scenarios(), ids=BY_NAME)
def test_the_protocol_of_the_index_holds(scenario, backwards):
    """The commands of one round trip run in the order of the code, or backwards, as on several servers."""
    protocol = Indexing(backwards)
    result = scenario.explorer(protocol).explore(scenario.check(protocol))
    assert result.complete
    assert result.ends
    assert result.errors == {}


@pytest.mark.parametrize(("draft", "name"), DRAFTS, ids=[draft.__name__ for draft, _ in DRAFTS])
def test_an_early_draft_of_the_index_fails(draft, name):
    protocol = draft()
    scenario = BY_NAME[name]
    assert scenario.explorer(protocol).explore(scenario.check(protocol)).errors
