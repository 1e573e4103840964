"""A sample has cases of every file, and its seed decides which."""

import pytest

from tests.support.runs.sampling import drawn

FILES = {"tests/test_a.py", "tests/b/test_b.py"}
TESTS = {f"{file}::test_{name}" for file in FILES for name in ("one", "other", "third")}
CASES = {f"{test}[{number}[{number}]]" for test in TESTS for number in range(50)}
ALONE = "tests/test_c.py::test_alone"


@pytest.mark.parametrize("cases", [1, 3])
def test_each_file_has_so_many_cases_and_a_tenth_of_the_others(cases):
    sample = drawn({*CASES, ALONE}, cases, seed="7")
    assert ALONE in sample
    assert sample <= {*CASES, ALONE}
    for file in FILES:
        assert sum(name.startswith(f"{file}::") for name in sample) == cases + (150 - cases) // 10


def test_each_test_of_a_file_has_a_case_before_any_has_two():
    sample = drawn(CASES, 3, seed="7")
    numbers = [sum(name.startswith(f"{test}[") for name in sample) for test in TESTS]
    assert max(numbers) - min(numbers) <= 1


def test_what_a_seed_draws_of_a_file_does_not_depend_on_other_files():
    alone = {name for name in CASES if name.startswith("tests/b/")}
    assert drawn(alone, 2, seed="7") == drawn(CASES, 2, seed="7") & alone
