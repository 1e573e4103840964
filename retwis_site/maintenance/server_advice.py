"""Advice on the settings of a server: it holds the only copy of the site, so it must not act as a cache."""

import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings

from retwis_site.exceptions import NotDone, StoreRefused, WrongClock
from retwis_site.store import embedded, keys, snowflake
from retwis_site.store.client import Store, answers
from retwis_site.store.ids import parse_id

# ---- Server advice


FULL = 0.8  # of the memory that the server may use: from here on it needs more


@dataclass(frozen=True)
class Advice:
    """A setting or state of a server that should change, and how. `id` is the id of the system check."""

    id: str
    text: str
    hint: str
    is_proven: bool = True  # False: it asks the operator to look at what this process cannot see


def advice(store: Store) -> list[Advice]:
    """What to change at each server, of several with its address; empty when nothing is wrong. One round trip a server
    and one more; behind a proxy one more a server, and for a store without users two. Raises StoreError."""
    before = time.time()
    infos = store.info()
    after = time.time()
    found = [[*_advice(info), *_other_clock(info, before, after)] for info in infos]
    if len(infos) > 1:
        found = [[*_of_one(server, pieces)] for server, pieces in zip(store.servers(), found, strict=True)]
    return [*chain.from_iterable(found), *lost_keys(store), *_unread_snapshots(store, infos)]


def _of_one(server: Store, pieces: Iterable[Advice]) -> Iterator[Advice]:
    """The same advice, with the address of the server in its text."""
    address = _address(server)
    where = address.get("path") or f"{address.get('host', 'localhost')}:{address.get('port', 6379)}"
    return (replace(piece, text=f"{where}: {piece.text}") for piece in pieces)


FEWER = 5  # times fewer keys than a server has on average, behind a proxy: then it has lost its keys
# Keys on average. With less, chance decides how many a server has: a proxy's hash, fnv1a_64, spreads short names badly.
ENOUGH = 1000


def lost_keys(store: Store) -> list[Advice]:
    """The servers behind a proxy that came back without their keys, such as with an empty disk. No proxy notices that,
    and what the other servers have looks like errors and orphans. One round trip a server; none without a proxy, since
    a server that forgets its keys forgets its cluster, too. Raises StoreError."""
    if settings.REDIS_TOPOLOGY != "twemproxy":
        return []
    servers = store.servers()
    sizes = [server.dbsize() for server in servers]
    average = sum(sizes) // len(sizes)
    text = "The server has {} keys, of {} expected."
    hint = (
        "Stop the site. Give that server its files back, or restore a backup into empty servers. docs/scaling.md says "
        "what to do when there is neither."
    )
    return [
        piece
        for server, size in zip(servers, sizes, strict=True)
        if average >= ENOUGH and size * FEWER < average
        for piece in _of_one(server, [Advice("retwis.W021", text.format(size, average), hint)])
    ]


def require_no_lost_keys(store: Store) -> None:
    """For commands that remove what nothing explains: what explains it may come back. Round trips as for `lost_keys`.
    Raises NotDone, StoreError."""
    for piece in lost_keys(store):
        raise NotDone(
            f"Nothing was changed: this would remove what belongs to lost keys. {piece.text} {piece.hint} "
            "To give them up: --accept-loss"
        )


def _advice(info: dict[str, Any]) -> Iterator[Advice]:
    """What the INFO of a server says."""
    if not info.get("aof_enabled"):
        hint = "Set `appendonly yes`: without it a restart loses every write since the last snapshot."
        yield Advice("retwis.W003", "The server keeps no append-only file (appendonly no).", hint)
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        hint = "Set `maxmemory-policy noeviction`: this is the site's only copy, not a cache."
        yield Advice("retwis.W004", f"The server may evict keys (maxmemory-policy {policy}).", hint)
    version = str(info.get("redis_version", "0"))
    if _version(version) < embedded.OLDEST:
        hint = "Use Redis 6.2 or newer, or Valkey."
        yield Advice("retwis.W006", f"The server is Redis {version}, which lacks commands of the site.", hint)
    if info.get("role") == "slave":
        hint = "Set REDIS_URL to its primary, or use REDIS_TOPOLOGY=sentinel."
        yield Advice("retwis.W009", "The server is a replica: it takes no writes, and it may lag behind.", hint)
    if evicted := int(info.get("evicted_keys", 0)):
        hint = "Set `maxmemory-policy noeviction`, and look at what is left with `manage.py doctor`."
        yield Advice("retwis.W010", f"Keys that the server has evicted since its start: {evicted}.", hint)
    used, limit = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    available = limit or int(info.get("total_system_memory", 0))
    if available and used >= FULL * available:
        hint = "Raise `maxmemory`, or move to a larger machine: when the memory is full, no one can post."
        yield Advice("retwis.W007", f"The server uses {used >> 20} of {available >> 20} MiB of memory.", hint)
    failed = [name for name in ("aof_last_write_status", "rdb_last_bgsave_status") if info.get(name, "ok") != "ok"]
    if failed:
        hint = "Look at its log and its disk: the disk may be full."
        yield Advice("retwis.W008", f"The server could not write its files ({', '.join(failed)}).", hint)


_WAY_OUT = (
    "Move that file out of the server's folder, and give it to `manage.py db restore FILE.rdb`. docs/backup.md says "
    "what else helps."
)


def _unread_snapshots(store: Store, infos: list[dict[str, Any]]) -> list[Advice]:
    """The trap of a dump.rdb beside `appendonly yes`: the server does not read the file, so the site is empty."""
    try:
        users = store.hlen(keys.users())
    except StoreRefused:  # a key of the wrong type, which has a check of its own
        return []
    if users:
        return []
    appending = [server for server, info in zip(store.servers(), infos, strict=True) if info.get("aof_enabled")]
    return [piece for server in appending for piece in _unread_snapshot(server)]


def _unread_snapshot(server: Store) -> list[Advice]:
    try:
        folder, name = server.setting("dir"), server.setting("dbfilename")
    except StoreRefused:  # the user of docs/redis.md may not send CONFIG
        folder, name = "", ""
    if folder and is_on_this_machine(server):
        with suppress(OSError):  # such as for Debian's /var/lib/redis, which only the server's user may enter
            return _found(Path(folder) / name)
    text = "The store has no users. If its server was given a dump.rdb, it has not read it (appendonly yes)."
    return [Advice("retwis.W013", text, f"For a new site, do nothing. Else: {_WAY_OUT}", is_proven=False)]


def is_on_this_machine(server: Store) -> bool:
    """Whether a store of one server has an address that leads nowhere else: a socket, or the loopback device."""
    address = _address(server)
    return "path" in address or is_loopback(str(address.get("host", "")))


def _address(server: Store) -> dict[str, Any]:
    """What a store of one server connects to: `path`, or `host` and `port`, as far as its URL says them."""
    [client] = server.transport.servers()
    return dict(client.connection_pool.connection_kwargs)


@lru_cache(maxsize=1000)  # the inspector asks it for each page
def is_loopback(host: str) -> bool:
    """Whether a name or an address of a host is that of the loopback device."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _found(dump: Path) -> list[Advice]:
    """Advice on this file; none when it is absent or empty. Raises OSError."""
    try:
        found = dump.stat()
    except FileNotFoundError:
        dump.parent.stat()  # it is not here when the server runs in a container
        return []
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        return []
    text = f"The store has no users, and its server has not read {dump}, since it has `appendonly yes`."
    return [Advice("retwis.W013", text, _WAY_OUT)]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())


# ---- Advice on the clock of this machine. With POST_IDS=snowflake it makes the ids.


def _other_clock(info: dict[str, Any], before: float, after: float) -> Iterator[Advice]:
    """Whether the server has another time than this machine, which asked it between these two moments. Not every server
    tells its own."""
    told = int(info.get("server_time_usec", 0)) / 1_000_000
    seconds = max(before - told, told - after)
    if told and seconds > snowflake.STEP:
        text = f"The clock of this machine is {seconds:.0f} s {'ahead of' if told < before else 'behind'} the server's."
        hint = "Set the clocks of all machines, with NTP: posts have a wrong time, and codes of authenticators fail."
        yield Advice("retwis.W022", text, hint)


_HINT = "Set the clocks of all machines, with NTP. Until then, no one can post or register here."


def clock_advice() -> list[Advice]:
    """Whether this machine can make ids. No round trip."""
    if settings.POST_IDS != "snowflake":
        return []
    try:
        snowflake.make()
    except WrongClock as error:
        return [Advice("retwis.E005", f"No id can be made: {error}", _HINT)]
    return []


def ids_ahead(store: Store) -> list[Advice]:
    """Whether the newest posts are of a time that has not come. One round trip; none with counted ids."""
    if settings.POST_IDS != "snowflake":
        return []
    highest = answers(store, lambda pipe, key: pipe.zrevrange(key, 0, 0), keys.recent.whatever_shards())
    newest = [pid for members in highest.values() for text in members if (pid := parse_id(text)) is not None]
    ahead = [pid for pid in newest if snowflake.is_ahead(pid)]
    if not ahead:
        return []
    text = f"The id of post {max(ahead)} is of a time that has not come: it stands above all posts until then."
    hint = "A machine's clock was ahead, or the clock of this one is behind. Set the clocks of all machines, with NTP."
    return [Advice("retwis.W016", text, hint)]
