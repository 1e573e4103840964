"""`python -m tests.mutants [words of a name]` plants each mutant into a copy of the site, and runs what must find it.

Prints a line for each: its seconds, the seed and the test that have found it. The exit status is 0 when all were found.
The tests try all their random cases, as in `make nightly`.
"""

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants import accounts, apps, community, posts, relations
from tests.mutants.mutant import Mutant
from tests.support.runs.seed import SEED

ROOT = Path(__file__).parents[2]
MUTANTS = [*accounts.MUTANTS, *apps.MUTANTS, *community.MUTANTS, *posts.MUTANTS, *relations.MUTANTS]
AT_ONCE = 2  # processes that test
LONGEST = 900  # seconds of one
SEEDS = (SEED, *(f"{SEED}-{number}" for number in range(2, 6)))
TESTS_FAILED = 1  # pytest's exit status; that of a test that cannot be collected is another one


def main(words: str) -> bool:
    """Run the mutants whose name has these words. Returns whether all were found."""
    chosen = [mutant for mutant in MUTANTS if words in mutant.name]
    copies: queue.Queue[Path] = queue.Queue()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="retwis-mutants-") as folder, ThreadPoolExecutor(AT_ONCE) as threads:
        for number in range(AT_ONCE):
            copies.put(_copied(Path(folder) / str(number)))
        found = list(threads.map(lambda mutant: _is_found(mutant, copies), chosen))
    survivors = [mutant.name for mutant, is_found in zip(chosen, found, strict=True) if not is_found]
    _say(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants were found in {time.monotonic() - began:.0f} s")
    for name in survivors:
        _say(f"SURVIVED: {name}")
    return not survivors and bool(chosen)


def _copied(folder: Path) -> Path:
    """A copy of the files that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S607
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def _is_found(mutant: Mutant, copies: queue.Queue[Path]) -> bool:
    """Chance decides how round trips are taken apart, so a mutant that one seed does not find gets others."""
    folder = copies.get()
    began, planted = time.monotonic(), folder / mutant.file
    sound = planted.read_text()
    planted.write_text(sound.replace(mutant.old, mutant.new))
    try:
        found = next(filter(None, (_failed(mutant, folder, seed) for seed in SEEDS)), None)
    finally:
        planted.write_text(sound)
        copies.put(folder)
    _say(f"{mutant.name}: {time.monotonic() - began:.0f} s, {found or 'NOT FOUND'}")
    return found is not None


def _failed(mutant: Mutant, folder: Path, seed: str) -> str | None:
    """The test that fails because of a planted mutant, with the seed; None when none does."""
    pytest = [sys.executable, "-m", "pytest", "--ds=tests.settings.fake", "-x", "-p", "no:cacheprovider"]
    environment = os.environ | {"EXAMPLES": "all", "SEED": seed}
    try:
        run = subprocess.run(
            [*pytest, *mutant.tests],
            cwd=folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        _say(f"{mutant.name}: too slow")
        return None
    failed = re.search(r"^FAILED (\S.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
    if failed and run.returncode == TESTS_FAILED:
        return f"SEED={seed} {failed[1]}"
    if run.returncode:
        _say(run.stdout[-2000:] + run.stderr[-2000:])
    return None


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(not main(" ".join(sys.argv[1:])))
