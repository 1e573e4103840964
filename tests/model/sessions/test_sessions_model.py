"""The protocol of sessions holds in every interleaving, also with crashes."""

import pytest

from tests.model.sessions.drafts import DRAFTS
from tests.model.sessions.protocol import SessionProtocol
from tests.model.sessions.scenarios import scenarios

BY_NAME = {scenario.name: scenario for scenario in scenarios()}


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("name", BY_NAME)
def test_the_protocol_of_sessions_holds(name, backwards):
    """The commands of one round trip run in the order of the code, or backwards, as on several servers."""
    protocol = SessionProtocol(backwards)
    scenario = BY_NAME[name]
    result = scenario.explorer(protocol).explore(scenario.check(protocol))
    assert result.complete
    assert result.ends
    assert result.errors == {}


@pytest.mark.parametrize(("draft", "name"), DRAFTS, ids=[draft.__name__ for draft, _ in DRAFTS])
def test_an_early_draft_of_sessions_fails(draft, name):
    protocol = draft()
    scenario = BY_NAME[name]
    assert scenario.explorer(protocol).explore(scenario.check(protocol)).errors
