"""What Prometheus reads of a site."""

import http.client
from contextlib import closing

from prometheus_client.parser import text_string_to_metric_families

from tests.support.http.http_browser import TIMEOUT


def scrape(port):
    """The metrics that are served at this port, by name: a dict of values by labels."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)) as connection:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.getheader("Content-Type").startswith("text/plain")
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {}
    for sample in samples:
        labels = frozenset(sample.labels.items())
        assert labels not in found.setdefault(sample.name, {}), f"{sample.name} has {sample.labels} twice"
        found[sample.name][labels] = sample.value
    return found


def total(found, name, **labels):
    """The sum of all values of a metric that have these labels."""
    return sum(value for key, value in found.get(name, {}).items() if labels.items() <= dict(key).items())
