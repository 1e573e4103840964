"""SITE_ADDRESS: how commands name the site. Without it, the other settings say it."""

import re
import subprocess

import pytest

from tests.support.processes.fresh_process import in_a_process

CODE = "from django.conf import settings; print(settings.SITE_ADDRESS)"


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, "http://localhost:8000"),
        ({"PORT": "9000"}, "http://localhost:9000"),
        ({"ALLOWED_HOSTS": ".retwis.example,localhost"}, "http://retwis.example"),
        ({"ALLOWED_HOSTS": "retwis.example", "HTTPS": "1"}, "https://retwis.example"),
        ({"HTTPS": "1"}, "https://localhost"),
        ({"ALLOWED_HOSTS": "a.example,b.example", "SITE_ADDRESS": "https://b.example"}, "https://b.example"),
    ],
)
def test_the_address_follows_from_the_settings(given, address):
    assert in_a_process(CODE, **given).strip() == address


@pytest.mark.parametrize("value", ["retwis.example", "ftp://retwis.example", "https://retwis.example/", "https://"])
def test_what_is_no_address_is_refused_in_a_sentence(value):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        in_a_process(CODE, SITE_ADDRESS=value)
    assert re.search(r"ImproperlyConfigured: SITE_ADDRESS=.*such as https://retwis\.example", failed.value.stderr)
