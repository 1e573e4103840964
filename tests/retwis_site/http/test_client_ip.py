"""The client's IP address: only the trusted proxies' entries in X-Forwarded-For count."""

import pytest
from django.test import RequestFactory

from retwis_site.http.client_ip import client_address


def address(settings, proxies, forwarded=None, remote="192.0.2.1"):
    settings.TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    return client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote))


@pytest.mark.parametrize("forwarded", [None, "", "203.0.113.9", "203.0.113.9, 198.51.100.1"])
def test_without_a_proxy_forwarded_addresses_are_ignored(settings, forwarded):
    assert address(settings, 0, forwarded) == "192.0.2.1"


@pytest.mark.parametrize(
    ("proxies", "expected"),
    [(1, "198.51.100.2"), (2, "198.51.100.1"), (3, "203.0.113.9"), (9, "203.0.113.9")],
)
def test_the_entry_of_the_outermost_trusted_proxy_counts(settings, proxies, expected):
    assert address(settings, proxies, "203.0.113.9,198.51.100.1 , 198.51.100.2") == expected


@pytest.mark.parametrize("nonsense", ["unknown", "_hidden", "1.2.3.4.5", "<script>", "1.2.3.4:80"])
def test_an_invalid_forwarded_address_is_ignored(settings, nonsense):
    assert address(settings, 1, nonsense) == "192.0.2.1"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("::1", "::/64"),
    ],
)
def test_a_whole_ipv6_network_is_one_client(settings, written, expected):
    assert address(settings, 1, written) == expected


def test_without_any_address_it_is_empty(settings):
    assert address(settings, 0, remote="") == ""
