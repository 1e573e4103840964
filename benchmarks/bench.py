"""`make bench`: measures how fast the site is, and writes docs/benchmarks.md.

`python -m benchmarks.bench [part ...]` measures only some parts; the others stay as they were measured last. It needs
Debian's wrk, apache2-utils, redis-tools and redis-server. All processes that it starts listen on loopback only and end
with it.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

os.environ["DJANGO_SETTINGS_MODULE"] = "retwis_site.settings"
os.environ["SECRET_KEY"] = "a secret for a benchmark on loopback"  # noqa: S105

import django

django.setup()

from benchmarks import document, stand  # noqa: E402
from benchmarks.parts import large, living, memory, mix, moving, pages, search, writes  # noqa: E402
from benchmarks.plan import Plan, Report, small, this_run  # noqa: E402

PARTS: dict[str, Callable[[Plan], Report]] = {
    "pages": pages.report,
    "living": living.report,
    "delivery": writes.delivery,
    "post": writes.post,
    "memory": memory.report,
    "large": large.report,
    "mix": mix.report,
    "moving": moving.report,
    "search": search.report,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__.split("\n")[0])
    parser.add_argument(
        "parts", nargs="*", help=f"any of {', '.join(PARTS)}, to renew on docs/benchmarks.md; default: all"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison (default 5)")
    parser.add_argument("--seconds", type=int, default=2, help="length of each run of wrk (default 2)")
    parser.add_argument("--small", action="store_true", help="small sizes, to test the script; no file is written")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the page from the last results")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    if options.rounds < 1 or options.seconds < 1:
        parser.error("the least is one round of one second")
    return options


def measure(plan: Plan, names: list[str]) -> Iterator[tuple[str, Report]]:
    """The report of each part, measured one after the other. A part that fails prints its traceback and is left out."""
    for name in names:
        began = time.monotonic()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        folder = plan.folder / name
        folder.mkdir()
        try:
            report = PARTS[name](replace(plan, folder=folder))
        except Exception:
            print("failed", file=sys.stderr)
            traceback.print_exc()
            continue
        print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        yield name, report


def main() -> int:
    options = arguments()
    if options.page:
        document.write_page()
        return 0
    if packages := stand.missing():
        print(f"make bench needs more programs: apt-get install {' '.join(packages)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # like Ctrl-C: all processes end in order
    names = options.parts or list(PARTS)
    measured: dict[str, document.Result] = {}
    with tempfile.TemporaryDirectory(prefix="retwis-bench-") as folder:
        plan = (small if options.small else Plan)(Path(folder), options.rounds, options.seconds)
        run = this_run(plan)
        for name, report in measure(plan, names):
            measured[name] = document.result(run, report)
            if not options.small:
                document.renew(run, name, report)
    print(document.document(measured))
    return 0 if len(measured) == len(set(names)) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
