"""The port of the metrics: one worker serves it, and another takes it over."""

import json

from tests.support.processes.fresh_process import in_a_process
from tests.support.processes.processes import free_port

SECOND_WORKER = """
import json, logging, socket
from retwis_site.store.client import connect
from retwis_site.telemetry import metrics
from tests.support.clock import Clock
from tests.support.processes.scrapes import scrape, total

lines = []

class Lines(logging.Handler):
    def emit(self, record):
        lines.append(f"{record.levelname} {record.getMessage()}")

logging.getLogger("retwis.metrics").handlers = [Lines()]
clock = metrics.time = Clock()
with socket.socket() as first_worker:
    first_worker.bind(("127.0.0.1", settings.METRICS_PORT))
    first_worker.listen()
    worker = metrics.WorkerMetrics(connect())
    for _ in range(3):
        worker.publish({"fan": 2})
        clock.sleep(11)
worker.publish({"fan": 1, "user": 0})
clock.sleep(11)
worker.publish({})
found = scrape(settings.METRICS_PORT)
jobs = {dict(key)["kind"]: value for key, value in found["retwis_jobs_finished_total"].items()}
print(json.dumps([lines, jobs, total(found, "retwis_store_up")]))
"""


def test_a_second_worker_says_once_that_the_port_is_taken_and_serves_it_when_it_is_free(tmp_path):
    port = free_port()
    told = json.loads(in_a_process(SECOND_WORKER, METRICS_PORT=str(port), VAR_DIR=str(tmp_path)))
    place = f"127.0.0.1:{port}"
    assert told == [
        [
            f"WARNING metrics cannot be served at {place} now: Address already in use",
            f"INFO metrics are at http://{place}/metrics",
        ],
        {"fan": 7},
        0,  # there is no store
    ]
