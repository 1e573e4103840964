"""Where a request comes from."""

from ipaddress import IPv4Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

NETWORK = 64  # bits of an IPv6 address that tell customers of a provider apart; within, anybody may choose


def client_address(request: HttpRequest) -> str:
    """The client's address, of IPv6 its /64 network; empty behind a socket that tells nothing.

    Each proxy appends to X-Forwarded-For whom it was called by, so of TRUSTED_PROXIES proxies the outermost wrote the
    entry that many places from the end. What stands before that is whatever the client made up.
    """
    entries = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    written = [entry.strip() for entry in entries[-settings.TRUSTED_PROXIES :]] if settings.TRUSTED_PROXIES else []
    for text in (*written[:1], str(request.META.get("REMOTE_ADDR", ""))):
        try:
            address = ip_address(text.strip("[]"))
        except ValueError:
            continue
        if isinstance(address, IPv4Address):
            return str(address)
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, NETWORK), strict=False))
    return ""
