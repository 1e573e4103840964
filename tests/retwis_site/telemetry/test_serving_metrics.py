"""METRICS_PORT: what Prometheus reads of a running `serve`, also after workers were killed, and without its store."""

import os
import re
import signal

import pytest
import redis
from django.conf import settings

from tests.support.processes.processes import free_ports, run_site, wait_until
from tests.support.processes.scrapes import scrape, total
from tests.support.stored_keys import add_overdue_job

pytestmark = [pytest.mark.real_server, pytest.mark.processes, pytest.mark.one_server]

DOCUMENT = settings.BASE_DIR / "docs" / "running.md"
DEPLOY = settings.BASE_DIR / "deploy"
METRIC = re.compile(r"\bretwis_[a-z0-9_]+\b")
IMMORTAL = re.compile(r".*(_total|_count|_sum|_bucket)")


@pytest.fixture
def site(own_server, settings, tmp_path):
    """A site with metrics, whose store can be stopped: (the site, its store, the port of the metrics)."""
    port, metrics_port = free_ports(2)
    with (
        own_server() as server,
        run_site(
            tmp_path, tmp_path / "log", port, REDIS_URL=settings.REDIS_URL, METRICS_PORT=str(metrics_port)
        ) as site,
    ):
        site.wait_until_it_serves()
        site.wait_for_workers()
        wait_until(lambda: scrape(metrics_port), "metrics")
        yield site, server, metrics_port


def documented():
    """name -> type, from the table in docs/running.md."""
    return dict(re.findall(r"^\| `(retwis_[a-z_]+)` \| (counter|gauge|histogram) \|", DOCUMENT.read_text(), re.M))


def asked_for():
    """The metrics that the dashboard and the alerts name."""
    texts = [(DEPLOY / name).read_text() for name in ("grafana/retwis.json", "prometheus/alerts.yml")]
    return {name for text in texts for name in METRIC.findall(text)}


def lowered(before, after):
    """The sums that have become smaller."""
    return [
        (name, labels)
        for name in before
        if IMMORTAL.fullmatch(name)
        for labels, value in before[name].items()
        if after[name].get(labels, 0) < value
    ]


def test_metrics_count_every_request_and_outlive_killed_workers(site):
    site, _server, port = site
    before = scrape(port)
    statuses = [site.browser.ask(path).status for path in ["/timeline/?of=all"] * 20 + ["/login/", "/no/such/page/"]]
    assert statuses == [200] * 21 + [404]
    after = scrape(port)
    for name in ("retwis_requests_total", "retwis_request_duration_seconds_count"):
        assert total(after, name, view="timeline") - total(before, name, view="timeline") == 20
        assert total(after, name, view="login") - total(before, name, view="login") == 1
    assert total(after, "retwis_requests_total", view="none", status="404") == 1
    assert 20 <= total(after, "retwis_store_round_trips_total", view="timeline") <= 60
    spent = total(after, "retwis_request_duration_seconds_sum", view="timeline")
    assert 0 < total(after, "retwis_store_seconds_total", view="timeline") < spent
    assert total(after, "retwis_request_duration_seconds_bucket", view="timeline", le="+Inf") == 20
    assert total(after, "retwis_processes", role="web") == 2
    assert total(after, "retwis_process_resident_bytes", role="web") > 2 * 20e6

    files = sorted(path.name for path in settings_folder(site).iterdir())
    for killed in range(1, 4):
        os.kill(site.web_workers()[-1], signal.SIGKILL)
        wait_until(lambda: total(scrape(port), "retwis_processes", role="web") == 1, "the end of a worker")
        assert lowered(after, scrape(port)) == []
        starts = 2 + killed
        wait_until(lambda wanted=starts: total(scrape(port), "retwis_process_starts_total", role="web") == wanted, "it")
    wait_until(lambda: total(scrape(port), "retwis_processes", role="web") == 2, "both workers")
    assert site.browser.ask("/timeline/?of=all").status == 200
    last = scrape(port)
    assert lowered(after, last) == []
    assert total(last, "retwis_requests_total", view="timeline") == 21
    assert sorted(path.name for path in settings_folder(site).iterdir()) == files


def settings_folder(site):
    return site.log.parent / "metrics"


def test_the_documents_the_dashboard_and_the_alerts_name_what_is_served(site, settings):
    site, server, port = site
    store = redis.Redis.from_url(settings.REDIS_URL, decode_responses=True)
    with store:
        add_overdue_job(store, "user:9")  # of a registration that never began
        store.zadd("set_aside", {"follow:9:9:abc": 1})
        wait_until(lambda: total(scrape(port), "retwis_jobs_finished_total", kind="user") == 1, "the job")
    site.browser.ask("/timeline/?of=all")
    found = scrape(port)
    families = {name.removesuffix("_bucket") for name in found if not name.endswith(("_count", "_sum", "_created"))}
    assert families == documented().keys()
    assert asked_for() - {*found} == set()
    assert total(found, "retwis_dead_letters") == 1
    assert total(found, "retwis_outbox_jobs") == 0

    server.kill()
    wait_until(lambda: total(scrape(port), "retwis_store_up") == 0, "the store to be missed")
    assert site.browser.ask("/timeline/?of=all").status == 503
    without = scrape(port)
    assert lowered(found, without) == []
    assert total(without, "retwis_unavailable_total", cause="store") >= 1
    assert total(without, "retwis_requests_total", view="timeline", status="503") == 1
    assert "retwis_users" not in without
    assert total(without, "retwis_processes", role="deliver") == 1
