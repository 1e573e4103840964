"""The IP address of a client."""

import logging
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.http import HttpRequest

logger = logging.getLogger("retwis.security")

IPV6_PREFIX = 64  # bits: a provider gives each customer such a network, and the customer picks addresses within it
UNKNOWN = "unknown"

# An entry as proxies write it: `1.2.3.4`, `1.2.3.4:5678`, `2001:db8::1`, `[2001:db8::1]`, `"[2001:db8::1]:443"`.
# An address of one link has its device at the end: `fe80::1%eth0`.
_ENTRY = re.compile(
    r"""\s*"?(?:\[([0-9a-fA-F:.]{2,45})\](?::\d*)?|([0-9.]{7,15}):\d*|([0-9a-fA-F:.]{2,45})(?:%[\w.-]+)?)"?\s*"""
)


def client_address(request: HttpRequest) -> str:
    """The client's IPv4 address or /64 IPv6 network, such as `2001:db8::/64`. Empty when the socket has no address."""
    return address_in(request.META)


def address_in(environ: Mapping[str, Any]) -> str:
    """`client_address`, of a WSGI environment.

    Each proxy appends the address of its caller to X-Forwarded-For. So the outermost of TRUSTED_PROXIES proxies wrote
    the entry that many places from the end. The client may have invented all entries before it. All clients whose entry
    is no address are one client, UNKNOWN. They share a limit with each other, and not with the proxy. A share for each
    text would be no limit where TRUSTED_PROXIES is too high: then clients write these texts.
    """
    header = environ.get("HTTP_X_FORWARDED_FOR", "") if settings.TRUSTED_PROXIES else ""
    if not header.strip():
        return _network_of_socket(str(environ.get("REMOTE_ADDR", "")))
    address = _network_in(header.rsplit(",", settings.TRUSTED_PROXIES)[-settings.TRUSTED_PROXIES :][0])
    if not address:
        _warn_once()
    return address or UNKNOWN


def _network_in(entry: str) -> str:
    """`network_of` the address in an entry; empty for an entry without one."""
    found = _ENTRY.fullmatch(entry)
    return network_of(found[found.lastindex or 0]) if found else ""


_network_of_socket = lru_cache(maxsize=4096)(_network_in)


@lru_cache(maxsize=4096)
def network_of(text: str) -> str:
    """An IPv4 address, or the /64 network of an IPv6 address; empty for a text that is no address."""
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((address, IPV6_PREFIX), strict=False))


@cache
def _warn_once() -> None:
    logger.warning(
        "X-Forwarded-For has an entry that is no address. Such clients share their limits. Let the outermost proxy "
        "write the client's address, and set TRUSTED_PROXIES to the number of proxies."
    )
