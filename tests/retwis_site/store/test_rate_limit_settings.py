"""Limits as the operator sets them: other numbers, and networks that are trusted."""

import subprocess
from ipaddress import ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured

from accounts.signing_in.feature import REGISTRATIONS
from retwis_site.exceptions import TooOften
from retwis_site.features import require_right_settings
from retwis_site.store.rate_limits import is_trusted
from tests.support.processes.fresh_process import in_a_process


@pytest.fixture(autouse=True)
def throttled(settings):
    settings.THROTTLE = True
    is_trusted.cache_clear()
    yield
    is_trusted.cache_clear()


def test_a_setting_changes_the_number_of_one_limit(settings, store, raw):
    settings.THROTTLES = {"register": 1}
    REGISTRATIONS.count(store, "192.0.2.1")
    with pytest.raises(TooOften, match="1 new accounts"):
        REGISTRATIONS.count(store, "192.0.2.1")


def test_addresses_of_trusted_networks_are_not_counted(settings, store, raw):
    settings.TRUSTED_NETWORKS = [ip_network("10.0.0.0/8"), ip_network("fd00::/8"), ip_network("0.0.0.0/8")]
    for who in ("10.1.2.3", "fd00:1:2:3::/64"):
        REGISTRATIONS.count(store, who)
    assert raw.keys("throttle:*") == []
    for who in ("192.0.2.1", "2001:db8::/64", 17, "unknown"):  # the user 17, not 0.0.0.17
        REGISTRATIONS.count(store, who)
    assert len(raw.keys("throttle:*")) == 4


def test_an_unknown_limit_is_refused_at_the_start(settings):
    settings.THROTTLES = {"nonsense": 1}
    with pytest.raises(ImproperlyConfigured, match=r"THROTTLE_NONSENSE is not known\..*THROTTLE_REGISTER"):
        require_right_settings()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("THROTTLE_POST", "many", "a whole number"),
        ("THROTTLE_POST", "0", "from 1"),
        ("TRUSTED_NETWORKS", "10", "Set networks"),
    ],
)
def test_a_bad_value_is_refused_at_the_start(name, value, reason):
    with pytest.raises(subprocess.CalledProcessError) as caught:
        in_a_process("pass", **{name: value})
    assert reason in caught.value.stderr.splitlines()[-1]
