"""The addresses in REDIS_URL: parsed for a connection, or as a text for people, without passwords."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from redis.connection import parse_url

from retwis_site.store import embedded

Options = dict[str, Any]


def urls() -> list[str]:
    """The addresses in REDIS_URL; none means the embedded server."""
    return split(settings.REDIS_URL)


def split(addresses: str) -> list[str]:
    """The addresses in a text with commas between them."""
    return [url.strip() for url in addresses.split(",") if url.strip()]


def parsed(url: str, where: str) -> Options:
    """What redis-py reads from an address: host, port, user and so on. Raises ImproperlyConfigured."""
    try:
        return dict(parse_url(url))
    except ValueError:  # its text may contain the password
        fix = "Write redis://host:6379, rediss://user:password@host:6379 or unix:///path/to/redis.sock."
        raise ImproperlyConfigured(f"{where} is not the address of a Redis server. {fix}") from None


def require_named_store() -> None:
    """Refuse a public site without REDIS_URL: it would work on an embedded store of its own, which is empty. EMBEDDED=1
    says that this store is meant. Raises ImproperlyConfigured."""
    if settings.PUBLIC and not settings.REDIS_URL and not settings.EMBEDDED:
        raise ImproperlyConfigured(
            "HTTPS or ALLOWED_HOSTS is set, but not REDIS_URL. Set REDIS_URL to the site's Redis server, or set "
            "EMBEDDED=1 to use the embedded server."
        )


def described() -> str:
    """Which store the settings name, in one line without passwords. No round trip. Raises ImproperlyConfigured."""
    prefix = f", keys with the prefix {settings.REDIS_KEY_PREFIX!r}" if settings.REDIS_KEY_PREFIX else ""
    return _servers() + prefix


def _servers() -> str:
    if not settings.REDIS_URL:
        return f"embedded, in {embedded.folder()}"
    named = described_urls(urls(), "REDIS_URL")
    if settings.REDIS_TOPOLOGY == "sentinel":
        return f"the primary {settings.REDIS_SENTINEL_SERVICE} of the sentinels {named}"
    if settings.REDIS_TOPOLOGY == "cluster":
        return f"the cluster of {named}"
    if settings.REDIS_TOPOLOGY == "twemproxy":
        return f"the proxy {named} before {described_urls(settings.REDIS_NODES, 'REDIS_NODES')}"
    return named


def described_urls(addresses: Sequence[str], where: str) -> str:
    """Addresses with commas between them, without passwords. Raises ImproperlyConfigured."""
    return ", ".join(_without_password(url, where) for url in addresses)


def _without_password(url: str, where: str) -> str:
    """An address made again of its scheme, user, host, port and database.

    A password with a character that should be quoted, such as `/` or `#`, ends the host too early: then a part of the
    password would be taken for the port. An `@` behind the host shows it, and only the scheme is returned."""
    options = parsed(url, where)
    scheme, _, behind_host, query, fragment = urlsplit(url)
    if "@" in f"{behind_host}{query}{fragment}":
        return f"{scheme}://..."
    user = f"{quote(options['username'], safe='')}@" if options.get("username") else ""
    database = options.get("db", 0)
    if "path" in options:
        return f"unix://{user}{options['path']}" + (f"?db={database}" if database else "")
    host = options.get("host", "localhost")
    host = f"[{host}]" if ":" in host else host
    port = f":{options['port']}" if "port" in options else ""
    return f"{scheme}://{user}{host}{port}/{database}"
