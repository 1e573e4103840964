"""What a mutant is."""

from typing import NamedTuple

JOINS = "the look joins the round trip that writes"
LEFT_OUT = "the look is left out"
EARLY = "the look comes before the write"
JOB_FIRST = "the job is removed before its work"
DELETED = (
    "tests/protocols/test_interleaved_removals.py::test_nothing_is_left_of_an_account_that_is_deleted_in_the_middle"
)


class Mutant(NamedTuple):
    """A fault, and what must find it."""

    name: str
    file: str
    old: str  # stands exactly once in the file
    new: str
    tests: tuple[str, ...]  # as `pytest` takes them
