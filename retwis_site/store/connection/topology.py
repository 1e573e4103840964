"""What stands at REDIS_URL: one server, one that sentinels watch over, a cluster, or servers behind a proxy.

Each becomes a `Wire`; nothing else in the site knows which. None is asked anything here: a server that is down is
noticed by the first command.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.connection import SSLConnection, parse_url
from redis.retry import Retry

from retwis_site.store import embedded
from retwis_site.store.connection.cluster import ClusterTransport
from retwis_site.store.connection.cluster_slots import Slots
from retwis_site.store.connection.sentinel import Sentinels
from retwis_site.store.connection.transport import OneServer, Transport

Options = dict[str, Any]


def transport(options: Options) -> Transport:
    """Whatever REDIS_TOPOLOGY says, with `options` for each connection. Raises ImproperlyConfigured."""
    build = TOPOLOGIES.get(settings.REDIS_TOPOLOGY)
    if build is None:
        known = ", ".join(TOPOLOGIES)
        raise ImproperlyConfigured(f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} is not supported. Set one of: {known}.")
    return build(_every_connection() | options)


def servers(urls: Sequence[str], options: Options) -> Transport:
    """Those that `copy --from` names, each to be asked for the keys that it has. Raises ImproperlyConfigured."""
    clients = [_client(url, _every_connection() | options, "--from") for url in urls]
    return OneServer(clients[0], holders=clients)


def cluster(urls: Sequence[str], options: Options, where: str = "--from") -> Transport:
    """The cluster that some servers belong to. What the first address says besides is for all: user, password, TLS.
    Raises ImproperlyConfigured."""
    addresses, common = _addresses(urls, 6379, where)
    if common.pop("db", 0):
        raise ImproperlyConfigured(f"A cluster has one database, number 0. Take the number out of {where}.")
    every = {"retry": _never_again(), **_every_connection(), **options, **common, **_greeting(common)}
    return ClusterTransport(Slots(addresses, lambda host, port: redis.Redis(host=host, port=port, **every)))


def _every_connection() -> Options:
    return {
        "decode_responses": True,
        "encoding_errors": "replace",  # a database from elsewhere may hold bytes that are no UTF-8
        "socket_timeout": settings.REDIS_TIMEOUT,
        "socket_connect_timeout": settings.REDIS_TIMEOUT,
        "protocol": 2,
        "driver_info": None,  # no CLIENT SETINFO: a proxy would hang up on it
    }


def _greeting(options: Options) -> Options:
    """What a connection needs besides that is encrypted and asks for no password. A TLS server begins with tickets for
    later sessions, and redis-py takes a connection for broken from which something came before the first reply."""
    encrypted = options.get("ssl") or options.get("connection_class") is SSLConnection
    return {"redis_connect_func": _greet} if encrypted and not options.get("password") else {}


def _greet(connection: Any) -> None:
    connection.on_connect()
    connection.send_command("PING", check_health=False)
    with suppress(redis.ResponseError):  # one that says no is as good
        connection.read_response()


def _never_again() -> Retry:
    return Retry(NoBackoff(), 0)


def _server(options: Options) -> Transport:
    return OneServer(_client(_one_url() if settings.REDIS_URL else embedded.url(), options))


def _twemproxy(options: Options) -> Transport:
    """The proxy takes all commands on keys; what goes through all keys is asked of the servers themselves."""
    if not settings.REDIS_NODES:
        fix = "Set it to the servers behind the proxy: redis://one:6379,redis://two:6379."
        raise ImproperlyConfigured(f"REDIS_TOPOLOGY='twemproxy' needs REDIS_NODES. {fix}")
    return OneServer(_client(_one_url(), options), holders=[_client(url, options) for url in settings.REDIS_NODES])


def _sentinel(options: Options) -> Transport:
    """The primary that the sentinels name, asked for with each new connection. User and password in REDIS_URL are for
    the primary; the sentinels have their own. TLS is for both."""
    if not settings.REDIS_SENTINEL_SERVICE:
        fix = "Set it to the name that the sentinels' configuration gives the primary."
        raise ImproperlyConfigured(f"REDIS_TOPOLOGY='sentinel' needs REDIS_SENTINEL_SERVICE. {fix}")
    addresses, common = _addresses(_some_urls(), 26379, "REDIS_URL")
    encryption = {name: value for name, value in common.items() if name.startswith("ssl")}
    user = encryption | _sentinel_user()
    asked = options | user | _greeting(user) | {"retry": _never_again()}
    build: Any = Sentinels
    sentinels = build(addresses, sentinel_kwargs=asked, retry=_never_again(), **options, **common, **_greeting(common))
    return OneServer(sentinels.master_for(settings.REDIS_SENTINEL_SERVICE))


def _sentinel_user() -> Options:
    username, password = settings.REDIS_SENTINEL_USERNAME, settings.REDIS_SENTINEL_PASSWORD
    if username and not password:
        fix = "Set both, or only the password where the sentinels have `requirepass`."
        raise ImproperlyConfigured(f"REDIS_SENTINEL_USERNAME needs REDIS_SENTINEL_PASSWORD. {fix}")
    return {"username": username or None, "password": password or None}


def _cluster(options: Options) -> Transport:
    return cluster(_some_urls(), options, "REDIS_URL")


TOPOLOGIES = {"server": _server, "sentinel": _sentinel, "cluster": _cluster, "twemproxy": _twemproxy}


def _client(url: str, options: Options, where: str = "REDIS_URL") -> "redis.Redis":
    more = options | _greeting(_parsed(url, where))
    return redis.Redis(connection_pool=redis.ConnectionPool.from_url(url, retry=_never_again(), **more))


def _one_url() -> str:
    if len(_urls()) != 1:
        raise ImproperlyConfigured(
            f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} needs one address in REDIS_URL, such as redis://host:6379."
        )
    return _urls()[0]


def _urls() -> list[str]:
    return [url.strip() for url in settings.REDIS_URL.split(",") if url.strip()]


def _some_urls() -> list[str]:
    if not _urls():
        raise ImproperlyConfigured(
            f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} needs REDIS_URL: redis://one:6379,redis://two:6379 and so on."
        )
    return _urls()


def _addresses(urls: Sequence[str], default_port: int, where: str) -> tuple[list[tuple[str, int]], Options]:
    """Hosts and ports, and what the first address says besides, for all: user, password, TLS and so on."""
    parsed = [_parsed(url, where) for url in urls]
    if any("path" in one for one in parsed):
        raise ImproperlyConfigured(f"Several servers need hosts in {where}, and no unix:// socket.")
    first = dict(parsed[0])
    common: Options = {"ssl": True} if first.pop("connection_class", None) is SSLConnection else {}
    common |= {name: value for name, value in first.items() if name not in {"host", "port"}}
    return [(one.get("host", "localhost"), one.get("port", default_port)) for one in parsed], common


def _parsed(url: str, where: str) -> Options:
    try:
        return dict(parse_url(url))
    except ValueError:  # its text may hold the password
        fix = "Write redis://host:6379, rediss://user:password@host:6379 or unix:///path/to/redis.sock."
        raise ImproperlyConfigured(f"{where} is not the address of a Redis server. {fix}") from None
