"""The protocol of posts holds in every interleaving, also with crashes: the scenarios that are explored in seconds.

`python -m tests.model` explores all of them.
"""

import pytest

from tests.model.posts.drafts import DRAFTS
from tests.model.posts.protocol import Posting
from tests.model.posts.scenarios import scenarios

BY_NAME = {scenario.name: scenario for scenario in scenarios()}
QUICK = [
    "two replies",
    "publishing || deletion of the new post",
    "deletion of the only reply || another reply",
    "deletion of the last reply below two tombstones",
    "quote || deletion of the quoted",
    "quote || deletion of the quote",
    "deletion || deletion",
    "edit of a reply || deletion of the parent",
    "reply || edit of the parent",
    "publishing || deletion of its author",
    "deletion || deletion of the author",
    "reply || deletion || expiry",
    "quote || deletion || expiry",
    "edit || deletion || expiry",
]
STATES = (20_000, 300_000)  # in which the error of a draft is found: most in a few


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("name", QUICK)
def test_the_protocol_of_posts_holds(name, backwards):
    """The commands of one round trip run in the order of the code, or backwards, as on several servers."""
    protocol = Posting(backwards)
    scenario = BY_NAME[name]
    result = scenario.explorer(protocol).explore(scenario.check(protocol))
    assert result.complete
    assert result.ends
    assert result.errors == {}


@pytest.mark.parametrize(("draft", "name"), DRAFTS, ids=[draft.__name__ for draft, _ in DRAFTS])
def test_an_early_draft_of_posts_fails(draft, name):
    protocol = draft()
    scenario = BY_NAME[name]
    assert any(scenario.explorer(protocol).explore(scenario.check(protocol), most).errors for most in STATES)
