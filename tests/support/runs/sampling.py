"""A sample of the tests with faults: `SAMPLE=2 SEED=7` runs two cases of each test, and makes long tests shorter.

Each process of a run draws for itself, by the seed and the names of the tests alone, so all of them draw the same.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tests.support.runs.seed import SEED

T = TypeVar("T")

CASES = int(os.environ.get("SAMPLE") or 0)  # of each test; 0: the run is no sample


def drawn(names: Iterable[str], cases: int, seed: str) -> set[str]:
    """The names of the cases (`folder/test_file.py::test_name[case]`) to run: of each test so many."""
    by_test: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        by_test[name.partition("[")[0]].append(name)
    return {
        name
        for test, of_test in by_test.items()
        for name in random.Random(f"{seed}/{test}").sample(of_test, min(cases, len(of_test)))
    }


def some(everything: Sequence[T], number: int) -> list[T]:
    """So many of them, in their order; they depend on the seed and the test that runs."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    chosen = random.Random(f"{SEED}/{test}").sample(range(len(everything)), min(number, len(everything)))
    return [everything[place] for place in sorted(chosen)]


def shorter(usual: T, in_a_sample: T) -> T:
    """How much a test does: what it usually does, or in a sample less."""
    return in_a_sample if CASES else usual
