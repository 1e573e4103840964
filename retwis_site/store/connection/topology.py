"""The topology at REDIS_URL: one server, a primary with sentinels, a cluster, or servers behind a proxy.

Each becomes a `Transport`; nothing else in the site knows which. Nothing is sent here: the first command fails when a
server is down.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django_redis import pool as django_redis_pool
from django_redis.cache import RedisCache
from redis.backoff import NoBackoff
from redis.connection import SSLConnection, parse_url
from redis.exceptions import NoPermissionError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool

from retwis_site.store import embedded
from retwis_site.store.connection.cluster import ClusterTransport, SlotMap, most_informative
from retwis_site.store.connection.transport import OneServer, Pool, Transport

ConnectionOptions = dict[str, Any]
RESP = 2  # the version of Redis's protocol that every server and proxy speaks
TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


# ---- The addresses in REDIS_URL: parsed for a connection, or as a text for people, without passwords.


def urls() -> list[str]:
    """The addresses in REDIS_URL; none means the embedded server."""
    return split(settings.REDIS_URL)


def split(addresses: str) -> list[str]:
    """The addresses in a text with commas between them."""
    return [url.strip() for url in addresses.split(",") if url.strip()]


def parsed(url: str, where: str) -> ConnectionOptions:
    """What redis-py reads from an address: host, port, user and so on. Raises ImproperlyConfigured."""
    try:
        options = dict(parse_url(url))
        if "path" not in options and not re.fullmatch(r"/?\d*/?", urlsplit(url).path):
            raise ValueError  # redis-py would take database 0
    except ValueError:  # its text may contain the password
        fix = "Write redis://host:6379, rediss://user:password@host:6379 or unix:///path/to/redis.sock."
        raise ImproperlyConfigured(f"{where} is not the address of a Redis server. {fix}") from None
    try:
        # Sends nothing. For `driver_info`, redis-py would read the metadata of its package: a millisecond.
        redis.ConnectionPool.from_url(url, driver_info=None).make_connection()
    except (TypeError, ValueError, AttributeError, redis.RedisError):
        fix = "Write it like rediss://host?ssl_ca_certs=/path/to/ca.pem."
        raise ImproperlyConfigured(f"What {where} says behind its `?` is not known. {fix}") from None
    if options.get("protocol", RESP) != RESP:  # redis-py takes it from the address, and replies have other types
        raise ImproperlyConfigured(f"The site speaks RESP{RESP}. Take `protocol` out of {where}.")
    for name in TLS_FILES:
        if name in options and not os.access(options[name], os.R_OK):  # else the error would be one of the server
            raise ImproperlyConfigured(f"This process cannot read {options[name]}, which {where} has as {name}.")
    return options


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


# ---- Transports


def transport(options: ConnectionOptions) -> Transport:
    """The transport for REDIS_TOPOLOGY, with `options` for each connection. Raises ImproperlyConfigured."""
    return TOPOLOGIES[settings.REDIS_TOPOLOGY](_every_connection() | options)


def servers(urls: Sequence[str], options: ConnectionOptions) -> Transport:
    """The servers in `copy --from`; each is asked for its own keys. Raises ImproperlyConfigured."""
    clients = [_client(url, _every_connection() | options, "--from") for url in urls]
    return OneServer(clients[0], holders=clients)


def cluster(urls: Sequence[str], options: ConnectionOptions, where: str = "--from") -> Transport:
    """The cluster of these servers. User, password and TLS of the first address are used for all. Raises
    ImproperlyConfigured."""
    addresses, common = _addresses(urls, 6379, where)
    if common.pop("db", 0):
        raise ImproperlyConfigured(f"A cluster has one database, number 0. Take the number out of {where}.")
    every = {"retry": _no_retries(), **_every_connection(), **options, **common}
    return ClusterTransport(SlotMap(addresses, lambda host, port: redis.Redis(host=host, port=port, **every)))


def _every_connection() -> ConnectionOptions:
    return {
        "decode_responses": True,
        "encoding_errors": "replace",  # a foreign database may hold bytes that are not UTF-8
        "socket_timeout": settings.REDIS_TIMEOUT,
        "socket_connect_timeout": settings.REDIS_TIMEOUT,
        "protocol": RESP,
        "driver_info": None,  # no CLIENT SETINFO: a proxy would close the connection
        "redis_connect_func": _greet,
    }


def _greet(connection: Any) -> None:
    """A TLS connection without a password begins with a PING: a TLS server first sends session tickets, and redis-py
    treats a connection as broken when data arrives before the first reply."""
    connection.is_new, connection.opened_at = True, time.monotonic()
    connection.on_connect()
    if isinstance(connection, SSLConnection) and not connection.password:
        connection.send_command("PING", check_health=False)
        with suppress(redis.ResponseError):  # an error reply also proves that the connection works
            connection.read_response()


def _no_retries() -> Retry:
    return Retry(NoBackoff(), 0)


def _server(options: ConnectionOptions) -> Transport:
    require_named_store()
    return OneServer(_client(_one_url() if settings.REDIS_URL else embedded.url(), options))


def _twemproxy(options: ConnectionOptions) -> Transport:
    """The proxy takes every command for one key. SCAN, DBSIZE and INFO go to the servers themselves."""
    if not settings.REDIS_NODES:
        fix = "Set it to the servers behind the proxy: redis://one:6379,redis://two:6379."
        raise ImproperlyConfigured(f"REDIS_TOPOLOGY='twemproxy' needs REDIS_NODES. {fix}")
    holders = [_client(url, options, "REDIS_NODES") for url in settings.REDIS_NODES]
    return OneServer(_client(_one_url(), options), holders=holders)


def _sentinel(options: ConnectionOptions) -> Transport:
    """The primary that the sentinels have elected. User and password in REDIS_URL are for the primary; the sentinels
    have their own settings. TLS is used for both."""
    if not settings.REDIS_SENTINEL_SERVICE:
        fix = "Set it to the name that the sentinels' configuration gives the primary."
        raise ImproperlyConfigured(f"REDIS_TOPOLOGY='sentinel' needs REDIS_SENTINEL_SERVICE. {fix}")
    addresses, common = _addresses(_some_urls(), 26379, "REDIS_URL")
    encryption = {name: value for name, value in common.items() if name.startswith("ssl")}
    user = encryption | _sentinel_user()
    sentinel_options = options | user | {"retry": _no_retries()}
    build: Any = Sentinels
    sentinels = build(addresses, sentinel_kwargs=sentinel_options, retry=_no_retries(), **options, **common)
    return OneServer(sentinels.master_for(settings.REDIS_SENTINEL_SERVICE, connection_pool_class=ElectedPrimary))


def _sentinel_user() -> ConnectionOptions:
    username, password = settings.REDIS_SENTINEL_USERNAME, settings.REDIS_SENTINEL_PASSWORD
    if username and not password:
        fix = "Set both, or only the password where the sentinels have `requirepass`."
        raise ImproperlyConfigured(f"REDIS_SENTINEL_USERNAME needs REDIS_SENTINEL_PASSWORD. {fix}")
    return {"username": username or None, "password": password or None}


def _cluster(options: ConnectionOptions) -> Transport:
    return cluster(_some_urls(), options, "REDIS_URL")


TOPOLOGIES = {"server": _server, "sentinel": _sentinel, "cluster": _cluster, "twemproxy": _twemproxy}


def _client(url: str, options: ConnectionOptions, where: str = "REDIS_URL") -> "redis.Redis":
    parsed(url, where)  # raises ImproperlyConfigured
    return redis.Redis(connection_pool=Pool.from_url(url, retry=_no_retries(), **options))


def _one_url() -> str:
    if len(urls()) != 1:
        raise ImproperlyConfigured(
            f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} needs one address in REDIS_URL, such as redis://host:6379."
        )
    return urls()[0]


def _some_urls() -> list[str]:
    if not urls():
        raise ImproperlyConfigured(
            f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} needs REDIS_URL: redis://one:6379,redis://two:6379 and so on."
        )
    return urls()


def _addresses(urls: Sequence[str], default_port: int, where: str) -> tuple[list[tuple[str, int]], ConnectionOptions]:
    """Hosts and ports, and the other options of the first address (user, password, TLS and so on), for all."""
    each = [parsed(url, where) for url in urls]
    if any("path" in options for options in each):
        raise ImproperlyConfigured(f"Several servers need hosts in {where}, and no unix:// socket.")
    first = dict(each[0])
    common: ConnectionOptions = {"ssl": True} if first.pop("connection_class", None) is SSLConnection else {}
    common |= {name: value for name, value in first.items() if name not in {"host", "port"}}
    return [(options.get("host", "localhost"), options.get("port", default_port)) for options in each], common


class ConnectionFactory(django_redis_pool.ConnectionFactory):  # type: ignore[misc]
    """How django-redis gets the site's connections: the transport for REDIS_TOPOLOGY."""

    def connect(self, url: str) -> Transport:
        return transport(self.pool_cls_kwargs)


class StoreConnections(RedisCache):  # type: ignore[misc]
    """The backend of `CACHES["store"]`. It gives `get_redis_connection` its connections; it is never a cache."""

    def clear(self) -> bool:
        raise NotImplementedError("CACHES['store'] holds the site itself: clear() would be FLUSHDB")


# ---- Sentinels


class SentinelRefused(redis.AuthenticationError):
    """A sentinel does not accept REDIS_SENTINEL_USERNAME and REDIS_SENTINEL_PASSWORD."""


class NoSuchService(MasterNotFoundError):
    """A sentinel knows no primary with the name in REDIS_SENTINEL_SERVICE."""


class BeingReplaced(MasterNotFoundError):
    """A sentinel hands the primary over to a replica. What the primary still accepts may be lost."""


SILENT_FOR = 10.0  # seconds


class Sentinels(Sentinel):
    """The sentinels in REDIS_URL. They are asked for the primary one after another, each once, and the newest election
    counts: a sentinel that is cut off from the others, with the old primary, still names that one, and so does for a
    moment the sentinel that replaces it. A primary that one of them is replacing is not named: a replica takes over a
    second before any sentinel says so. Those that did not answer in the last SILENT_FOR seconds are asked only if no
    other one knows the primary. redis-py's own method asks a silent sentinel ten times more, and repeats the replies in
    its errors. Threads share it."""

    _silent_until: Mapping[Any, float] = MappingProxyType({})  # monotonic seconds, by sentinel

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Host and port of the primary. Raises redis.RedisError when no sentinel answers or knows a running primary.
        Raises BeingReplaced."""
        failures: list[redis.RedisError] = []
        known: list[tuple[int, bool, str, int]] = []  # the number of the election, whether it is usable, its address
        replaced: set[tuple[int, str, int]] = set()
        silent, sentinels = self._silent_until, list[Any](self.sentinels)
        for sentinel in sorted(sentinels, key=lambda sentinel: silent.get(sentinel, 0.0)):
            if any(is_usable for _, is_usable, *_ in known) and time.monotonic() < silent.get(sentinel, 0.0):
                break
            try:
                state = sentinel.sentinel_masters().get(service_name)
            except redis.RedisError as error:
                failures.append(_failure(sentinel, error))
                self._silent_until = {**self._silent_until, sentinel: time.monotonic() + SILENT_FOR}
                continue
            if state is None:
                failures.append(NoSuchService(f"{_address(sentinel)} knows no primary named {service_name!r}"))
                continue
            is_up = bool(self.check_master_state(state, service_name))  # type: ignore[no-untyped-call]
            is_staying = "failover_in_progress" not in state["flags"]
            election, host, port = state.get("config-epoch", 0), state["ip"], state["port"]
            if not is_up:
                failures.append(MasterNotFoundError(f"{_address(sentinel)} says that the primary is down"))
            if not is_staying:
                replaced.add((election, host, port))
            known.append((election, is_up and is_staying, host, port))
        election, is_usable, host, port = max(known, default=(0, False, "", 0))
        if (election, host, port) in replaced:
            raise BeingReplaced(f"the sentinels are replacing the primary {host}:{port}")
        if is_usable:
            return host, port
        raise most_informative(failures, MasterNotFoundError, SentinelRefused)


ASKS_EVERY = 1.0  # seconds
ASKS_FOR = 0.1  # of the time, while none of them knows the primary; so silent sentinels are asked less often


class ElectedPrimary(SentinelConnectionPool):
    """Connections to the primary. The sentinels are asked for it at each new connection, and by one request a second:
    they tell a primary that another one has replaced only ten seconds later to follow it. Until then it accepts writes
    on the connections that it has, and all of them are lost. So these are closed as soon as a replacement begins."""

    _asks_at = 0.0  # monotonic seconds

    def get_connection(self, *_: Any, **__: Any) -> Any:
        began = time.monotonic()
        if began >= self._asks_at and self.master_address is not None:  # the first connection asks by itself
            self._asks_at = began + ASKS_EVERY / ASKS_FOR  # other threads do not ask meanwhile
            pause = ASKS_EVERY
            try:
                self.proxy.get_master_address()  # closes the idle connections to another one
            except BeingReplaced:
                self.proxy.master_address = None  # so connections in use are closed too, when they are given back
                self.disconnect(inuse_connections=False)
            except redis.RedisError:  # the primary may work without sentinels; a new connection reports it
                pause = max(pause, (time.monotonic() - began) / ASKS_FOR)
            self._asks_at = time.monotonic() + pause
        return super().get_connection()


def _failure(sentinel: Any, error: redis.RedisError) -> redis.RedisError:
    if isinstance(error, redis.AuthenticationError | NoPermissionError):
        return SentinelRefused(f"sentinel {_address(sentinel)}: {error}")
    if isinstance(error, redis.ResponseError):
        return redis.ConnectionError(f"{_address(sentinel)} is no sentinel: {error}")
    return type(error)(f"sentinel {_address(sentinel)}: {error}")


def _address(sentinel: Any) -> str:
    options = sentinel.connection_pool.connection_kwargs
    return f"{options['host']}:{options['port']}"
