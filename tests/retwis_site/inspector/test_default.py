"""The inspector is on where a site is tried out, and off elsewhere, unless INSPECT says otherwise."""

import os

import pytest

from tests.support.processes.fresh_process import run_code

SHOWS = """
from retwis_site import settings
print(settings.INSPECT)
"""
UNSET = ("INSPECT", "REDIS_URL", "ALLOWED_HOSTS", "HTTPS", "RETWIS_ENV_FILE")


@pytest.mark.parametrize(
    ("given", "is_on"),
    [
        ({}, True),
        ({"INSPECT": "0"}, False),
        ({"REDIS_URL": "redis://127.0.0.1:1"}, False),
        ({"REDIS_URL": "redis://127.0.0.1:1", "INSPECT": "1"}, True),
        ({"ALLOWED_HOSTS": "retwis.example", "EMBEDDED": "1"}, False),
        ({"HTTPS": "1", "EMBEDDED": "1"}, False),
        ({"HTTPS": "1", "INSPECT": "1"}, True),
    ],
)
def test_it_is_on_where_a_site_is_tried_out(tmp_path, given, is_on):
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment |= {"VAR_DIR": str(tmp_path), "SECRET_KEY": "only for tests", **given}
    shown = run_code(SHOWS, environment)
    assert shown.stdout.split() == [str(is_on)]
