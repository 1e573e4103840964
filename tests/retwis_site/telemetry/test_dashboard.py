"""The files of deploy/prometheus/ and deploy/grafana/ are whole. test_serving_metrics.py compares them with what is
served."""

import json
import re

import yaml
from django.conf import settings
from django.urls import get_resolver

DEPLOY = settings.BASE_DIR / "deploy"
LABELS = {"view", "status", "cause", "kind", "role", "server", "le", "job"}


def rules():
    groups = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels():
    return json.loads((DEPLOY / "grafana/retwis.json").read_text())["panels"]


def expressions():
    return [rule["expr"] for rule in rules()] + [one["expr"] for panel in panels() for one in panel["targets"]]


def test_each_alert_says_how_bad_it_is_and_what_is_wrong():
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) == 10
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}, rule
        assert rule["annotations"]["summary"].endswith((".", "?")), rule


def test_the_example_for_prometheus_reads_the_alerts_and_the_port_of_the_example_of_the_settings():
    example = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    assert example["rule_files"] == ["alerts.yml"]
    [job] = example["scrape_configs"]
    assert job["job_name"] == "retwis"
    port = re.search(r"METRICS_PORT=([0-9]+)", (DEPLOY / "retwis.env.example").read_text())[1]
    assert job["static_configs"] == [{"targets": [f"127.0.0.1:{port}"]}]


def test_panels_stand_beside_each_other_and_have_a_unit():
    places = [panel["gridPos"] for panel in panels()]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert all(panel["fieldConfig"]["defaults"]["unit"] and panel["targets"] for panel in panels())


def test_expressions_name_labels_and_views_that_there_are():
    views = {str(pattern.name) for pattern in get_resolver().url_patterns}
    for expression in expressions():
        assert expression.count("(") == expression.count(")")
        by = [name.strip() for names in re.findall(r"by \(([^)]*)\)", expression) for name in names.split(",")]
        matched = re.findall(r"[{,]\s*([a-z]+)\s*[=!]~?", expression)
        assert {*by, *matched} <= LABELS, expression
        assert set(re.findall(r'view[!=]+"([a-z_]+)"', expression)) <= views, expression
