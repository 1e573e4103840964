"""People do all that people do while workers and the store are killed and the clock steps: nothing is lost, nothing is
wrong, and the memory stays flat.

`make soak` takes ten minutes and 50 people. At first all processes are killed; then only the store, so that the memory
of the others can be compared."""

import json
import os
import sys
import time

import pytest

from retwis_site.store import keys
from tests.support.endurance import measures
from tests.support.endurance.crowds import Running
from tests.support.endurance.disturbances import Disturbances
from tests.support.endurance.ledger import all_is_there
from tests.support.endurance.person import Crowd
from tests.support.processes.memory import MIB
from tests.support.processes.processes import OWN_SETTINGS, environment, free_port, manage, run_site, wait_until
from tests.support.processes.stepped_clock import COMPILER, stepped_clock
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.relations import assert_relations_agree
from tests.support.stores.store_faults import a_server

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

SECONDS = float(os.environ.get("SOAK_SECONDS") or 25)
PEOPLE = int(os.environ.get("SOAK_CLIENTS") or 12)
SEED = int(os.environ.get("SOAK_SEED") or 1)
SHOWS_PAGES = 65 * MIB  # of some 80
STORM, WARM_UP, STEADY = 0.55, 0.15, 0.30  # parts of the time
IN_A_STORM = ["kill_web_worker"] * 4 + ["kill_deliver"] * 2 + ["kill_store"] * 2 + ["step_clock"] * 3
LATER = ["kill_store", "step_clock", "step_clock"]
PAUSE = (0.5, 4.0)  # seconds between two disturbances
TWO_HOURS = 7200  # seconds; the clock was at most one hour ahead of what it is at the end


@pytest.mark.skipif(COMPILER is None, reason="the clock steps by a library in C, and there is no C compiler")
def test_nothing_is_lost_and_memory_stays_flat(tmp_path):
    with stepped_clock(tmp_path) as clock, a_server() as server:
        server.start("--appendfsync", "always")
        trial = {"THROTTLE": "0", "DELIVER_INLINE_LIMIT": "5", "INSPECT": "0"}
        changes = {"REDIS_URL": server.url, **trial, **OWN_SETTINGS}
        env = environment(tmp_path / "var", **changes)
        with run_site(tmp_path / "var", tmp_path / "log", free_port(), **changes) as site:
            site.wait_until_it_serves()
            disturbances = Disturbances(SEED, site, server, clock)
            running = Running(Crowd(site.port, SEED, disturbances), PEOPLE)
            try:
                with disturbances.watching_the_store():
                    running.register()
                    make_staff(running, env)
                    before, after = soak(running, disturbances, server.admin)
                    running.end()
            finally:
                running.crowd.stop.set()
                tell(running, disturbances)
            assert running.errors == []
            assert any(one.edited for one in running.crowd.accounts)  # they have found the buttons
            assert any(one.gone for one in running.crowd.accounts)
            finish(server.admin, clock)
            assert all_is_there(running.crowd, server.admin) == []
            check_the_store(server.admin, env)
            sys.stderr.write(f"{measures.table(before[0], after[0])}\nstore: {before[1]} > {after[1]}\n")
            assert [*measures.grown(before[0], after[0]), *measures.grown_store(before[1], after[1])] == []
            assert "Traceback" not in site.printed()
            assert "correct horse" not in site.printed()  # the passwords
            assert site.stop() == 0


def make_staff(running, env):
    for person, role in zip(running.people, ("admin", "moderator"), strict=False):
        done = manage("role", person.name, role, env=env)
        assert done.returncode == 0, done.stderr


def soak(running, disturbances, raw):
    """The measures after a warm-up, and at the end."""
    running.begin()
    disturbances.disturb(IN_A_STORM, SECONDS * STORM, PAUSE)
    disturbances.wait_until_all_run()
    disturbances.disturb(LATER, SECONDS * WARM_UP, PAUSE)
    wait_until(lambda: have_shown_pages(disturbances), "pages of each web worker", 60)
    before = measured(running, disturbances, raw)
    disturbances.disturb(LATER, SECONDS * STEADY, PAUSE)
    return before, measured(running, disturbances, raw)


def have_shown_pages(disturbances):
    """On a busy machine, a worker that was killed last may have shown none yet: then it has half of the memory."""
    uses = measures.uses(disturbances.pids()).items()
    return all(use.size > SHOWS_PAGES for name, use in uses if name.startswith("web worker"))


def measured(running, disturbances, raw):
    with running.rest():
        wait_until(lambda: not free_jobs(raw), "the jobs that no worker has", 60)
        return measures.uses(disturbances.pids()), measures.of_store(raw)


def jobs_due_by_now(raw):
    """The jobs that are due, by the clock of the store. Those of killed processes are due after a minute, and the
    deletion of a suspended account after weeks."""
    now = raw.time()[0]
    return [job for key in keys.outbox.all() for job in raw.zrangebyscore(key, "-inf", now)]


def free_jobs(raw):
    """Those of them without a lease. A worker that was killed, or lost the store, keeps its lease for a minute; for
    longer when the clock steps backwards."""
    return [job for job in jobs_due_by_now(raw) if not raw.exists(f"lease:{job}")]


def finish(raw, clock):
    """Two hours pass: leases end, and the worker finishes what killed processes have left."""
    clock.step(TWO_HOURS)
    wait_until(lambda: abs(raw.time()[0] - time.time() - clock.stepped) < 60, "the stepped clock in the store")
    wait_until(lambda: not jobs_due_by_now(raw), "an empty outbox", 60)
    assert raw.zrange("set_aside", 0, -1) == []


def check_the_store(raw, env):
    """Nothing is inconsistent, and `cleanup` removes all that killed processes have left behind."""
    found = report(env)
    assert found["errors"] == []
    orphans = {one["check"]: one["found"] for one in found["debris"] if one["found"]}
    sys.stderr.write(f"orphans: {orphans}\n")
    assert_relations_agree(raw, "")
    assert_conversations_agree(raw, "")
    cleanup = manage("cleanup", env=env)
    assert cleanup.returncode == 0, cleanup.stderr
    assert report(env)["debris"] == []
    assert raw.hgetall("attempts") == {}


def report(env):
    doctor = manage("doctor", "--json", env=env)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    return json.loads(doctor.stdout)


def tell(running, disturbances):
    crowd = running.crowd
    sys.stderr.write(f"\nseed {SEED}, {PEOPLE} people, {SECONDS:.0f} s\n")
    for title, counts in (("deeds", crowd.deeds), ("answers", crowd.statuses), ("disturbances", disturbances.done)):
        sys.stderr.write(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()) + "\n")
    for error in running.errors[:10]:
        sys.stderr.write(f"{error}\n")
