"""The files in which processes count: a killed process is followed by the next, and no number is counted twice."""

import json

import pytest

from tests.support.processes.fresh_process import in_a_process

COUNT_AND_DIE = """
import json, os, signal
from retwis_site.store.connection.recorder import Recording
from retwis_site.telemetry.metrics import Process
from retwis_site.telemetry.metrics import AllProcesses
from retwis_site.telemetry.middleware import Observation

SEEN = Observation("GET", "home", 200, 10, 0.002, 1, 0.001, "127.0.0.1", None, None, Recording())
process = Process("web")

def child(requests, ends):
    pid = os.fork()
    if pid == 0:
        for _ in range(requests):
            process.observe(SEEN)
        ends()
    return pid

def sums():
    samples = [sample for metric in AllProcesses().collect() for sample in metric.samples]
    names = ("retwis_requests_total", "retwis_processes", "retwis_process_starts_total")
    return [sum(sample.value for sample in samples if sample.name == name) for name in names]

def files():
    return len(os.listdir(os.path.join(os.environ["VAR_DIR"], "metrics")))

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

answers = []
process.observe(SEEN)
for _ in range(30):
    os.waitpid(child(3, killed), 0)
    answers.append(sums())
some = files()
together = [child(2, signal.pause) for _ in range(3)]
while sums()[0] < 97:
    pass
answers.append(sums())
for pid in together:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
answers.append(sums())
print(json.dumps([answers, some, files()]))
"""


def test_thirty_killed_workers_leave_their_numbers_and_no_more_files_than_one(tmp_path):
    answers, some, files = json.loads(in_a_process(COUNT_AND_DIE, METRICS_PORT="9100", VAR_DIR=str(tmp_path)))
    assert answers[:30] == [[1 + 3 * number, 1, 1 + number] for number in range(1, 31)]
    assert answers[30:] == [[97, 4, 34], [97, 1, 34]]
    assert (some, files) == (9, 17)  # a lock and three files for each, and one lock for all


READ_DAMAGED = """
from retwis_site.telemetry.metrics import AllProcesses, Process
Process("web")
samples = [sample for metric in AllProcesses().collect() for sample in metric.samples]
print([sample.value for sample in samples if sample.name in {"retwis_processes", "retwis_requests_total"}])
"""


@pytest.mark.parametrize(
    "damaged", [b"", b"\x40\0\0\0", b"\x40\0\0\0" + bytes(1000), b"x" * 5000, b"\x40\0\0\0\0\0\0\0\x08\0\0\0[1, 2, 3"]
)
def test_files_that_a_power_failure_has_damaged_begin_anew(tmp_path, damaged):
    folder = tmp_path / "metrics"
    folder.mkdir()
    for number in (0, 7):  # the file of this process, and one whose number no process has now
        for kind in ("counter", "histogram", "gauge_livesum"):
            (folder / f"{kind}_{number}.db").write_bytes(damaged)
    assert in_a_process(READ_DAMAGED, METRICS_PORT="9100", VAR_DIR=str(tmp_path)) == "[1.0]"


def test_without_a_port_nothing_of_it_is_loaded(tmp_path):
    code = """
import sys
from django.core.management import call_command
import retwis_site.wsgi
from retwis_site.management.commands import deliver
Client(headers={"host": "localhost"}).get("/livez")
print("prometheus_client" in sys.modules)
"""
    assert in_a_process(code, VAR_DIR=str(tmp_path)) == "False"
    assert not (tmp_path / "metrics").exists()


def test_a_disk_without_room_stops_the_counting_and_not_the_site(tmp_path):
    (tmp_path / "metrics").write_text("in the place of the folder")
    code = """
client = Client(headers={"host": "localhost"})
print([client.get("/livez").status_code for _ in range(2)])
"""
    assert in_a_process(code, METRICS_PORT="9100", VAR_DIR=str(tmp_path)) == "[200, 200]"
