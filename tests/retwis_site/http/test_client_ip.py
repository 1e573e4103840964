"""The client's IP address: only the trusted proxies' entries in X-Forwarded-For count."""

import pytest
from django.test import RequestFactory

from accounts.signing_in.feature import REGISTRATIONS as LIMIT
from retwis_site.exceptions import TooOften
from retwis_site.http import client_ip
from retwis_site.http.client_ip import UNKNOWN, client_address


def address(settings, proxies, forwarded=None, remote="192.0.2.1"):
    settings.TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    return client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote))


@pytest.mark.parametrize("forwarded", [None, "", "203.0.113.9", "203.0.113.9, 198.51.100.1"])
def test_without_a_proxy_forwarded_addresses_are_ignored(settings, forwarded):
    assert address(settings, 0, forwarded) == "192.0.2.1"


@pytest.mark.parametrize(
    ("proxies", "expected"), [(1, "198.51.100.2"), (2, "198.51.100.1"), (3, "203.0.113.9"), (9, "203.0.113.9")]
)
def test_the_entry_of_the_outermost_trusted_proxy_counts(settings, proxies, expected):
    assert address(settings, proxies, "203.0.113.9,198.51.100.1 , 198.51.100.2") == expected


@pytest.mark.parametrize(
    "nonsense", ["unknown", "_hidden", "1.2.3.4.5", "<script>", "1.2.3.4:80:90", "[::1", "::1]:80"]
)
def test_clients_without_an_address_share_their_limits_with_each_other_alone(settings, nonsense):
    assert address(settings, 1, nonsense) == UNKNOWN
    assert address(settings, 1, f"203.0.113.9, {nonsense}") == UNKNOWN


def test_an_entry_that_is_no_address_is_logged_once(settings, caplog):
    client_ip._warn_once.cache_clear()
    for entry in ("unknown", "_hidden"):
        address(settings, 1, entry)
    (record,) = [record for record in caplog.records if record.name == "retwis.security"]
    assert "set TRUSTED_PROXIES" in record.getMessage()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        ('"[2001:db8:1:2::9]:443"', "2001:db8:1:2::/64"),
        ("[::ffff:198.51.100.1]:443", "198.51.100.1"),
    ],
)
def test_a_whole_ipv6_network_is_one_client(settings, written, expected):
    assert address(settings, 1, written) == expected


@pytest.mark.parametrize("written", ["1.2.3.4:5678", " 1.2.3.4:5678 ", '"1.2.3.4:5678"', "1.2.3.4:", "1.2.3.4"])
def test_an_address_with_its_port_is_that_address(settings, written):
    assert address(settings, 1, written) == "1.2.3.4"
    assert address(settings, 1, "203.0.113.9:1, 1.2.3.4:5678") == "1.2.3.4"


def test_two_clients_behind_a_proxy_that_adds_ports_have_their_own_limits(store, settings):
    """As a proxy at 192.0.2.1 writes them, such as Azure's."""
    clients = [address(settings, 1, f"198.51.100.{number}:{5000 + number}") for number in (1, 2)]
    for _ in range(LIMIT.times):
        LIMIT.count(store, clients[0])
    with pytest.raises(TooOften):
        LIMIT.count(store, clients[0])
    LIMIT.count(store, clients[1])


def test_without_any_address_it_is_empty(settings):
    assert address(settings, 0, remote="") == ""
