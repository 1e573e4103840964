"""The commands that only the key browser sends: they ask a server about its keys. All of them read.

A Twemproxy forwards none of them, and a Redis user may lack the right: then they raise StoreRefused."""

from django.conf import settings

from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Reply


def scan(server: Store, cursor: int, count: int) -> tuple[int, list[str]]:
    """The next cursor (0: the end) and about `count` keys of this one server, in no order. One round trip."""
    found: tuple[int, list[str]] = server.send("SCAN", cursor, "COUNT", count)
    return found


def ask_memory(pipe: Pipe, key: str) -> Reply[int | None]:
    """The bytes that a key takes, with its name, about; None without the key. Of a large key the server looks at five
    members."""
    return pipe.send("MEMORY", "USAGE", key)


def ask_encoding(pipe: Pipe, key: str) -> Reply[str | None]:
    """How the server stores a key, such as `listpack`; None without the key."""
    return pipe.send("OBJECT", "ENCODING", key)


def ask_length(pipe: Pipe, type_: str, key: str) -> Reply[int]:
    """The number of members, fields, entries or bytes of a key of this type."""
    match type_:
        case "hash":
            return pipe.hlen(key)
        case "zset":
            return pipe.zcard(key)
        case "list":
            return pipe.send("LLEN", key)
        case _:
            return pipe.send("STRLEN", key)


def asked_about_keys(store: Store) -> list[Store]:
    """The stores that together know all keys, for MEMORY and OBJECT. A Twemproxy does not forward them, so there it is
    each server behind it; a server replies with nothing about a key that it does not have."""
    return store.servers() if settings.REDIS_TOPOLOGY == "twemproxy" else [store]
