"""How much the memory of a web worker grows while it serves pages."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.growth.paper import table
from benchmarks.plan import Plan
from benchmarks.stand import Place, site, workers
from benchmarks.visitor import Viewer
from benchmarks.wrk import Visit, random_target

WARM_UP = 100  # requests after which a worker counts as started
PROFILES, TIMELINES = 15, 5  # percent of the page views; all others are homes
MEGABYTE = 1024 * 1024


def private(pid: int) -> int:
    """The bytes of memory that only this process has, from the kernel's summary."""
    return private_bytes(Path(f"/proc/{pid}/smaps_rollup").read_text())


def private_bytes(rollup: str) -> int:
    return sum(int(size) * 1024 for size in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB$", rollup, re.MULTILINE))


def report(plan: Plan, place: Place, users: Sequence[Viewer], figures: dict[str, float]) -> str:
    """A text on the growth of both workers of a new site. Fills `figures`."""
    log = plan.folder / "memory.log"
    with site(place, log) as port:
        pids = workers(log)
        views = random_target(port, visits(users), plan.folder / "views.lua")
        views.first(plan.clients[0], WARM_UP)
        start = [private(pid) for pid in pids]
        result = views.first(plan.clients[0], plan.views)
        end = [private(pid) for pid in pids]
        if workers(log) != pids or result.refused or result.broken:
            raise RuntimeError(f"{result.refused} page views were refused and {result.broken} broken, or a worker died")
    grown = [after - before for before, after in zip(start, end, strict=True)]
    figures["worker memory"] = max(grown)
    rows = [
        [f"worker {number}", *(f"{size / MEGABYTE:.1f}" for size in sizes)]
        for number, sizes in enumerate(zip(start, end, grown, strict=True), 1)
    ]
    return f"""\
Memory of the {len(pids)} web workers of a site that has just started, after {WARM_UP} page views and after
{result.requests:,} more, at random: {100 - PROFILES - TIMELINES} % homes, {PROFILES} % profiles of others and
{TIMELINES} % global timelines, all signed in as random users. It is the memory that a process does not share with
others (`Private_*` in `/proc/<pid>/smaps_rollup`).

{table(["process", "start, MB", "end, MB", "growth, MB"], rows)}"""


def visits(users: Sequence[Viewer]) -> list[Visit]:
    """A home of each user, and in proportion profiles and global timelines."""
    rng = random.Random(4)
    homes = [("/", user.header) for user in users]
    some = rng.choices(users, k=len(users) * PROFILES // (100 - PROFILES - TIMELINES))
    profiles = [(f"/@{rng.choice(users).name}/", user.header) for user in some]
    some = rng.choices(users, k=len(users) * TIMELINES // (100 - PROFILES - TIMELINES))
    return [*homes, *profiles, *(("/timeline/", user.header) for user in some)]
