"""A sample has cases of every test, and its seed decides which."""

import pytest

from tests.support.runs.sampling import drawn

TESTS = {"tests/test_a.py::test_one", "tests/test_a.py::test_other", "tests/b/test_b.py::test_one"}
CASES = {f"{test}[{number}[{number}]]" for test in TESTS for number in range(50)}
ALONE = "tests/test_c.py::test_alone"


@pytest.mark.parametrize("cases", [1, 3])
def test_each_test_has_so_many_of_its_cases(cases):
    sample = drawn({*CASES, ALONE}, cases, seed="7")
    assert ALONE in sample
    assert sample <= {*CASES, ALONE}
    for test in TESTS:
        assert sum(name.startswith(f"{test}[") for name in sample) == cases


def test_a_seed_draws_the_same_in_any_order_of_the_tests():
    assert drawn(sorted(CASES), 2, seed="7") == drawn(sorted(CASES, reverse=True), 2, seed="7")


def test_another_seed_draws_others():
    assert len({frozenset(drawn(CASES, 2, seed=str(number))) for number in range(10)}) == 10


def test_what_a_seed_draws_of_a_test_does_not_depend_on_other_tests():
    alone = {name for name in CASES if name.startswith("tests/b/")}
    assert drawn(alone, 2, seed="7") == drawn(CASES, 2, seed="7") & alone
