"""Each mutant can still be planted, and the tests that must find it exist. `make test-mutants` runs them."""

from pathlib import Path

from django.conf import settings

from tests.mutants.__main__ import MUTANTS

ROOT = Path(settings.BASE_DIR)


def test_a_mutant_changes_one_place_of_a_file_that_compiles_then():
    for mutant in MUTANTS:
        sound = (ROOT / mutant.file).read_text()
        assert sound.count(mutant.old) == 1, mutant.name
        compile(sound.replace(mutant.old, mutant.new), mutant.file, "exec")
        for test in mutant.tests:
            file, _, function = test.partition("[")[0].partition("::")
            assert f"def {function}" in (ROOT / file).read_text(), mutant.name


def test_each_mutant_has_a_name_of_its_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
