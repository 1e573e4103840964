"""What a server should be told before it keeps a site: it is the only copy, not a cache."""

from dataclasses import dataclass
from typing import Any

from retwis_site.store.client import Store

OLDEST = (6, 2)
FULL = 0.8  # of the memory that the server may use: from there on it is time to give it more


@dataclass(frozen=True)
class Advice:
    """Something about the server that is not as it should be, and what to do. `id` is that of the system check."""

    id: str
    text: str
    hint: str


def advice(store: Store) -> list[Advice]:
    """What to change at each server; empty when all is well. One round trip a server. Raises StoreError."""
    return [piece for said in store.info() for piece in _advice(said)]


def _advice(said: dict[str, Any]) -> list[Advice]:
    found = []
    if not said.get("aof_enabled"):
        hint = "Set `appendonly yes`: without it a restart loses what was written since the last snapshot."
        found.append(Advice("retwis.W003", "The server keeps no append-only file (appendonly no).", hint))
    policy = said.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        hint = "Set `maxmemory-policy noeviction`: this is the site's only copy, not a cache."
        found.append(Advice("retwis.W004", f"The server may evict keys (maxmemory-policy {policy}).", hint))
    version = str(said.get("redis_version", "0"))
    if _version(version) < OLDEST:
        hint = "Use Redis 6.2 or newer, or Valkey."
        found.append(Advice("retwis.W006", f"The server is Redis {version}, which lacks commands of the site.", hint))
    return found + _memory(said) + _files(said)


def _memory(said: dict[str, Any]) -> list[Advice]:
    used, limit = int(said.get("used_memory", 0)), int(said.get("maxmemory", 0))
    most = limit or int(said.get("total_system_memory", 0))
    if not most or used < FULL * most:
        return []
    hint = "Raise `maxmemory`, or move to a larger machine: when it is full, nothing can be posted."
    text = f"The server uses {used >> 20} of {most >> 20} MiB of memory."
    return [Advice("retwis.W007", text, hint)]


def _files(said: dict[str, Any]) -> list[Advice]:
    failed = [name for name in ("aof_last_write_status", "rdb_last_bgsave_status") if said.get(name, "ok") != "ok"]
    if not failed:
        return []
    hint = "Look into its log, and at its disk: it may be full."
    return [Advice("retwis.W008", f"The server could not write its files ({', '.join(failed)}).", hint)]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())
