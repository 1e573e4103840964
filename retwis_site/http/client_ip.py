"""The IP address of a client."""

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.http import HttpRequest

IPV6_PREFIX = 64  # bits: a provider gives each customer such a network, and the customer picks addresses within it


def client_address(request: HttpRequest) -> str:
    """The client's IPv4 address or /64 IPv6 network, such as `2001:db8::/64`. Empty when the socket has no address."""
    return address_in(request.META)


def address_in(environ: Mapping[str, Any]) -> str:
    """`client_address`, of a WSGI environment.

    Each proxy appends the address of its caller to X-Forwarded-For. So the outermost of TRUSTED_PROXIES proxies wrote
    the entry that many places from the end. The client may have invented all entries before it.
    """
    entries = environ.get("HTTP_X_FORWARDED_FOR", "").split(",")
    trusted = [entry.strip() for entry in entries[-settings.TRUSTED_PROXIES :]] if settings.TRUSTED_PROXIES else []
    for text in (*trusted[:1], str(environ.get("REMOTE_ADDR", ""))):
        if address := network_of(text.strip("[]")):
            return address
    return ""


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
