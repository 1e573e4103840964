"""A sample of the tests that a run has chosen: `SAMPLE=1 SEED=7` runs one case of each file and a tenth of the others,
and makes long tests shorter.

Each process of a run draws for itself, by the seed and the names of the tests alone, so all of them draw the same.
"""

import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tests.support.runs.seed import SEED

T = TypeVar("T")

CASES = int(os.environ.get("SAMPLE") or 0)  # of each file, at least; 0: the run is no sample


def drawn(names: Iterable[str], cases: int, seed: str) -> set[str]:
    """The names of the cases (`folder/test_file.py::test_name[case]`) to run: of each file so many, and a tenth of the
    others. A test has a second case only when each other test of its file has one."""
    by_file: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        by_file[name.partition("::")[0]].append(name)
    chosen: set[str] = set()
    for file, of_file in by_file.items():
        random.Random(f"{seed}/{file}").shuffle(of_file)
        seen: Counter[str] = Counter()
        nth = {}  # which case of its test each is
        for name in of_file:
            test = name.partition("[")[0]
            nth[name], seen[test] = seen[test], seen[test] + 1
        chosen.update(sorted(of_file, key=nth.__getitem__)[: cases + (len(of_file) - cases) // 10])
    return chosen


def some(everything: Sequence[T], number: int) -> list[T]:
    """So many of them, in their order; they depend on the seed and the test that runs."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    chosen = random.Random(f"{SEED}/{test}").sample(range(len(everything)), min(number, len(everything)))
    return [everything[place] for place in sorted(chosen)]


def shorter(usual: T, in_a_sample: T) -> T:
    """How much a test does: what it usually does, or in a sample less."""
    return in_a_sample if CASES else usual
