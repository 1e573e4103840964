"""`/.well-known/security.txt` names who hears of weaknesses (RFC 9116)."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

PATH = "/.well-known/security.txt"


def test_without_a_contact_there_is_no_file(client, settings):
    assert settings.SECURITY_CONTACT == ""
    assert client.get(PATH).status_code == 404


@pytest.mark.parametrize("contact", ["mailto:security@retwis.example", "https://retwis.example/report"])
def test_the_file_has_the_contact_and_expires_within_a_year(client, settings, contact):
    settings.SECURITY_CONTACT = contact
    answer = client.get(PATH)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    fields = dict(line.split(": ", 1) for line in answer.content.decode().splitlines())
    assert list(fields) == ["Contact", "Expires", "Preferred-Languages", "Canonical"]
    assert fields["Contact"] == contact
    assert fields["Preferred-Languages"] == "en"
    assert fields["Canonical"] == f"http://testserver{PATH}"
    left = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=178) < left < timedelta(days=365)


def test_any_cache_may_keep_the_file_for_an_hour_and_no_round_trip_makes_it(client, settings, sent):
    settings.SECURITY_CONTACT = "mailto:security@retwis.example"
    answer = client.get(PATH)
    assert answer["Cache-Control"] == "public, max-age=3600"
    assert client.get(PATH, headers={"if-none-match": answer["ETag"]}).status_code == 304
    assert sent.round_trips == []


@pytest.mark.parametrize("value", ["security@retwis.example", "http://retwis.example", "mailto:nobody", "mailto:a b@c"])
def test_an_invalid_contact_stops_the_site_with_a_line_that_names_the_setting(value):
    command = [sys.executable, "-c", "import retwis_site.settings"]
    run = subprocess.run(command, env={**os.environ, "SECURITY_CONTACT": value}, capture_output=True, text=True)
    assert run.returncode != 0
    assert re.search(r"ImproperlyConfigured: SECURITY_CONTACT=.*such as mailto:", run.stderr)
