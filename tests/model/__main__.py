"""`python -m tests.model [words of a name]` explores the scenarios and prints what was found.

The exit status is 0 when all is as it must be. All of them take about twenty minutes.

Each scenario runs twice: with the commands of a round trip in the order of the code, and backwards.
"""

import sys
from collections.abc import Sequence

from tests.model.core import Result
from tests.model.drafts import DRAFTS
from tests.model.index import drafts as drafts_of_the_index
from tests.model.index import scenarios as scenarios_of_the_index
from tests.model.index.protocol import Indexing
from tests.model.posts import drafts as drafts_of_posts
from tests.model.posts import scenarios as scenarios_of_posts
from tests.model.posts.protocol import Posting
from tests.model.protocol import Relations
from tests.model.scenarios import scenarios
from tests.model.sessions import drafts as drafts_of_sessions
from tests.model.sessions import scenarios as scenarios_of_sessions
from tests.model.sessions.protocol import SessionProtocol


def main(words: str) -> bool:
    """Explore every scenario whose name has these words; then the drafts. Returns whether all is as it must be."""
    relations = _explore(words, Relations, scenarios(), DRAFTS)
    posts = _explore(words, Posting, scenarios_of_posts.scenarios(), drafts_of_posts.DRAFTS)
    index = _explore(words, Indexing, scenarios_of_the_index.scenarios(), drafts_of_the_index.DRAFTS)
    sessions = _explore(words, SessionProtocol, scenarios_of_sessions.scenarios(), drafts_of_sessions.DRAFTS)
    return relations and posts and index and sessions


def _explore(words: str, kind: type, all_scenarios: Sequence, drafts: Sequence[tuple[type, str]]) -> bool:
    good = True
    for scenario in all_scenarios:
        if words not in scenario.name:
            continue
        for backwards in (False, True):
            protocol = kind(backwards)
            explorer = scenario.explorer(protocol)
            result = explorer.explore(scenario.check(protocol))
            good &= bool(result.errors) == scenario.fails_by_design
            order = "backwards" if backwards else "forwards"
            _print(scenario.name, order, result)
            for error in list(result.errors)[: 1 if words and not scenario.fails_by_design else 0]:
                for line in explorer.example(scenario.check(protocol), error):
                    _line(f"    {line}")
    by_name = {scenario.name: scenario for scenario in all_scenarios}
    for draft, name in drafts:
        if words in draft.__name__:
            protocol = draft()
            result = by_name[name].explorer(protocol).explore(by_name[name].check(protocol))
            good &= bool(result.errors)
            _print(f"draft {draft.__name__}: {name}", "forwards", result)
    return good


def _print(name: str, order: str, result: Result) -> None:
    how = "complete" if result.complete else "LIMIT REACHED"
    errors = "; ".join(f"{error} ({number})" for error, number in result.errors.items()) or "no errors"
    _line(f"{name} ({order}): {result.states} states, {result.ends} ends, {how}, {result.seconds:.0f} s: {errors}")


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(not main(" ".join(sys.argv[1:])))
