"""The command line of each question: `python -m benchmarks.speed [part ...]` measures, and writes docs/benchmarks.md.

It needs Debian's wrk, redis-tools and redis-server. All processes that it starts listen on loopback only and end with
it.
"""

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks import document, stand
from benchmarks.plan import Plan, Report, small, this_run

Parts = Mapping[str, Callable[[Plan], Report]]


def arguments(question: str, parts: Parts) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{question}")
    parser.add_argument(
        "parts", nargs="*", help=f"any of {', '.join(parts)}, to renew on docs/benchmarks.md, or of other questions"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison (default 5)")
    parser.add_argument("--seconds", type=int, default=2, help="length of each run of wrk (default 2)")
    parser.add_argument("--small", action="store_true", help="small sizes, to test the script; no file is written")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in document.HEADINGS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    if options.rounds < 1 or options.seconds < 1:
        parser.error("the least is one round of one second")
    return options


def measure(plan: Plan, parts: Parts) -> Iterator[tuple[str, Report]]:
    """The report of each part, measured one after the other. A part that fails prints its traceback and is left out."""
    for name, part in parts.items():
        began = time.monotonic()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        folder = plan.folder / name
        folder.mkdir()
        try:
            report = part(replace(plan, folder=folder))
        except Exception:
            print("failed", file=sys.stderr)
            traceback.print_exc()
            continue
        print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        yield name, report


def main(question: str, parts: Parts) -> int:
    """Measure what the command line says. The exit status: 0, 1 when a part failed, 2 when a program is missing."""
    options = arguments(question, parts)
    chosen = {name: part for name, part in parts.items() if name in (options.parts or parts)}
    if not chosen:
        return 0
    if packages := stand.missing():
        print(f"make bench needs more programs: apt-get install {' '.join(packages)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # like Ctrl-C: all processes end in order
    measured: dict[str, document.Result] = {}
    with tempfile.TemporaryDirectory(prefix="retwis-bench-") as folder:
        plan = (small if options.small else Plan)(Path(folder), options.rounds, options.seconds)
        run = this_run(plan)
        for name, report in measure(plan, chosen):
            measured[name] = document.result(run, report)
            if not options.small:
                document.renew(run, name, report)
    print(document.document(measured))
    return 0 if len(measured) == len(chosen) else 1
