"""Each mutant can still be planted, and the tests that must find it exist. `make test-mutants` runs them."""

import builtins
import symtable
from collections.abc import Iterator

from django.conf import settings

from tests.mutants.__main__ import MUTANTS

ROOT = settings.BASE_DIR


def test_a_mutant_changes_one_place_of_a_file_that_compiles_then():
    for mutant in MUTANTS:
        sound = (ROOT / mutant.file).read_text()
        assert sound.count(mutant.old) == 1, mutant.name
        compile(sound.replace(mutant.old, mutant.new), mutant.file, "exec")
        for test in mutant.tests:
            file, _, function = test.partition("[")[0].partition("::")
            assert f"def {function}" in (ROOT / file).read_text(), mutant.name


def test_a_mutant_uses_no_name_that_is_not_there():
    """Else a test would fail with a NameError, whether or not it finds the fault."""
    for mutant in MUTANTS:
        planted = (ROOT / mutant.file).read_text().replace(mutant.old, mutant.new)
        whole = symtable.symtable(planted, mutant.file, "exec")
        known = {one.get_name() for one in whole.get_symbols() if one.is_assigned() or one.is_imported()}
        assert {*_global_names(whole)} <= known | {*vars(builtins)}, mutant.name


def _global_names(part: symtable.SymbolTable) -> Iterator[str]:
    """The names that this part of a file reads, and those within it, from the file or from Python."""
    yield from (one.get_name() for one in part.get_symbols() if one.is_global() and one.is_referenced())
    for inner in part.get_children():
        yield from _global_names(inner)


def test_each_mutant_has_a_name_of_its_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
