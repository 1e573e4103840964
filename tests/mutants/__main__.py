"""`python -m tests.mutants [words of a name]` plants each mutant into a copy of the site, and runs what must find it.

Prints a line for each: its seconds and the test that has found it. The exit status is 0 when all were found. The tests
try all their random cases, as in `make nightly`.
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

from tests.mutants import accounts, community, posts, relations
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
MUTANTS = [*accounts.MUTANTS, *community.MUTANTS, *posts.MUTANTS, *relations.MUTANTS]
AT_ONCE = 2  # processes that test
LONGEST = 900  # seconds of one
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
    folder = copies.get()
    began, planted = time.monotonic(), folder / mutant.file
    sound = planted.read_text()
    planted.write_text(sound.replace(mutant.old, mutant.new))
    pytest = [sys.executable, "-m", "pytest", "--ds=tests.settings.fake", "-x", "-p", "no:cacheprovider"]
    try:
        run = _run([*pytest, *mutant.tests], folder)
    except subprocess.TimeoutExpired:
        run = None
    finally:
        planted.write_text(sound)
        copies.put(folder)
    failed = re.search(r"^FAILED (\S.*?)(?: - .*)?$", run.stdout, re.MULTILINE) if run is not None else None
    is_found = run is not None and run.returncode == TESTS_FAILED and failed is not None
    outcome = failed[1] if failed and is_found else "NOT FOUND" if run is not None else "TOO SLOW"
    _say(f"{mutant.name}: {time.monotonic() - began:.0f} s, {outcome}")
    if run is not None and not is_found and run.returncode:
        _say(run.stdout[-2000:] + run.stderr[-2000:])
    return is_found


def _run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    every = os.environ | {"EXAMPLES": "all"}
    return subprocess.run(command, cwd=folder, env=every, check=False, capture_output=True, text=True, timeout=LONGEST)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(not main(" ".join(sys.argv[1:])))
