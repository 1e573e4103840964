"""Pictures: how fast one is served and uploaded, how much memory they take, and what they cost a home."""

import hashlib
import io
import json
import os
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

import redis
from PIL import Image

import benchmarks.configured  # noqa: F401
from accounts.media.decoding import Decoded, Shape
from accounts.media.repository import Pictures
from benchmarks.pages import HEADS, heads, pages_of, require_size, row
from benchmarks.plan import Plan, Report, table
from benchmarks.stand import Place, embedded_store, empty_view, site
from benchmarks.wrk import race, target, warm_up
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer

BYTES, OWNERS = 50 * 1024, 20  # of a picture; users who have uploaded them, since each has a quota
PHOTO = (4000, 3000)  # pixels


def pictures(plan: Plan) -> Report:
    """Two stores with the same users and posts; in the second one each post has a picture."""
    with ExitStack() as stack:
        plain, full = (_seeded(plan, plan.folder / name, stack) for name in ("plain", "full"))
        digests, memory = _stored(full.client, plan.pictures)
        _show(full.client, digests)
        upload = statistics.median(_upload(full.client, number) for number in range(plan.rounds))
        empty = stack.enter_context(empty_view(plain, plan.folder / "empty.log"))
        ports = [stack.enter_context(site(each, plan.folder / f"{each is full}.log")) for each in (plain, full)]
        base = target(empty, [("/", "")], plan.folder / "empty.lua")
        files = target(ports[1], [(f"/media/{one}.webp", "") for one in digests], plan.folder / "files.lua")
        pages = [pages_of(each.client, port, plan.viewers)[0] for each, port in zip((plain, full), ports, strict=True)]
        homes = [page.target(port, plan.folder) for page, port in zip(pages, ports, strict=True)]
        warm_up([base, files, *homes])
        clients = plan.clients[0]
        served = race(base, {"a picture": files}, clients, plan.rounds, plan.seconds)["a picture"]
        home = race(homes[0], {"home": homes[1]}, clients, plan.rounds, plan.seconds)["home"]
        require_size("a picture", served, BYTES)
        require_size("home with pictures", home, pages[1].check(ports[1]))
    text = f"""\
{len(digests):,} pictures of {BYTES // 1024} KB, which `wrk` asks for in turn, without nginx:

{table(HEADS, [row("a picture", clients, served)])}
The same homes of two stores, without pictures and with one on each post:

{table(heads("home without"), [row("home with pictures", clients, home)])}
The pictures, with all that is known of them, take **{memory:.3f} times** their bytes of `used_memory`. A photo of
{PHOTO[0] * PHOTO[1] // 10**6} megapixels is decoded and stored in two sizes after **{upload:.2f} s** (median of
{plan.rounds})."""
    figures = {"picture": served.ratio, "home with pictures": home.ratio, "picture bytes": memory, "upload": upload}
    return Report(text, figures)


def _seeded(plan: Plan, folder: Path, stack: ExitStack) -> Place:
    folder.mkdir()
    place = stack.enter_context(embedded_store(folder))
    place.seed(plan.users, plan.posts, plan.follows)
    return place


def _stored(client: redis.Redis, number: int) -> tuple[list[str], float]:
    """The digests of new pictures, and the memory that they take for each of their bytes."""
    before, store = client.info("memory")["used_memory"], Pictures(Store(OneServer(client)))
    digests = [hashlib.sha256(str(one).encode()).hexdigest()[:40] for one in range(number)]
    for one, digest in enumerate(digests):
        store.add(
            one % OWNERS + 1, Decoded(digest, 900, 600, {"": os.urandom(BYTES)}, "0" * 32, "LEHV6nWB2yk8pyo0adR*")
        )
    return digests, (client.info("memory")["used_memory"] - before) / (number * BYTES)


def _show(client: redis.Redis, digests: list[str]) -> None:
    """Give each post a picture."""
    pipe = client.pipeline(transaction=False)
    for pid in range(1, int(client.get(keys.next_post_id()) or 0) + 1):
        shown = {"pictures": [[digests[pid % len(digests)], 900, 600, "A picture"]]}
        pipe.hset(keys.post(pid), "media", json.dumps(shown))
    pipe.execute()


def _upload(client: redis.Redis, number: int) -> float:
    """The seconds of an upload."""
    file = io.BytesIO()
    Image.effect_noise(PHOTO, 30 + number).convert("RGB").save(file, "JPEG", quality=85)
    began = time.perf_counter()
    Pictures(Store(OneServer(client))).upload(number + 1, file.getvalue(), Shape.POST)
    return time.perf_counter() - began
