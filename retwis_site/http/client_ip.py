"""The IP address of a client."""

from ipaddress import IPv4Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

IPV6_PREFIX = 64  # bits: a provider gives each customer such a network, and the customer picks addresses within it


def client_address(request: HttpRequest) -> str:
    """The client's IPv4 address or /64 IPv6 network, such as `2001:db8::/64`. Empty when the socket has no address.

    Each proxy appends the address of its caller to X-Forwarded-For. So the outermost of TRUSTED_PROXIES proxies wrote
    the entry that many places from the end. The client may have invented all entries before it.
    """
    entries = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    trusted = [entry.strip() for entry in entries[-settings.TRUSTED_PROXIES :]] if settings.TRUSTED_PROXIES else []
    for text in (*trusted[:1], str(request.META.get("REMOTE_ADDR", ""))):
        try:
            address = ip_address(text.strip("[]"))
        except ValueError:
            continue
        if isinstance(address, IPv4Address):
            return str(address)
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return ""
