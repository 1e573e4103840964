"""Pictures: how fast one is served and uploaded, how much memory they take, and what they cost a home."""

import hashlib
import io
import json
import os
import statistics
import time
from contextlib import ExitStack

import redis
from PIL import Image

import benchmarks.configured  # noqa: F401
from accounts.media.decoding import Decoded, Shape
from accounts.media.repository import Pictures
from benchmarks.pages import Page, compare, full_homes, race_table
from benchmarks.plan import Plan, Report
from benchmarks.stand import embedded_store, empty_view, site
from benchmarks.visitor import people
from benchmarks.wrk import Visit
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer

BYTES, OWNERS = 50 * 1024, 20  # of a picture; users who have uploaded them, since each has a quota
PHOTO = (4000, 3000)  # pixels


def pictures(plan: Plan) -> Report:
    """Two stores with the same users and posts; in the second one each post has a picture."""
    with ExitStack() as stack:
        plain, full = places = [stack.enter_context(embedded_store(plan.folder / name)) for name in ("plain", "full")]
        for place in places:
            place.seed(plan.users, plan.posts, plan.follows)
        digests, memory = _stored(full.client, plan.pictures)
        _show(full.client, digests)
        upload = statistics.median(_upload(full.client, number) for number in range(plan.rounds))
        empty = stack.enter_context(empty_view(plain))
        homes = []
        for name, place in zip(("home without", "home with pictures"), places, strict=True):
            port = stack.enter_context(site(place))
            readers = full_homes(port, people(place.client), plan.viewers)[: plan.viewers]
            homes.append(Page(name, port, [reader.visit("/") for reader in readers]))
        files = Page("a picture", port, [Visit(f"/media/{digest}.webp") for digest in digests], posts=0)
        (served,) = compare(plan, empty, [files])
        (shown,) = compare(plan, homes[0], homes[1:])
    text = f"""\
{len(digests):,} pictures of {BYTES // 1024} KB, which `wrk` asks for in turn, without nginx:

{race_table(empty.name, [served])}
The same homes of two stores, without pictures and with one on each post:

{race_table(homes[0].name, [shown])}
The pictures, with all that is known of them, take **{memory:.3f} times** their bytes of `used_memory`. A photo of
{PHOTO[0] * PHOTO[1] // 10**6} megapixels is decoded and stored in two sizes after **{upload:.2f} s** (median of
{plan.rounds})."""
    figures = {"picture": served.ratio, "home with pictures": shown.ratio, "picture bytes": memory, "upload": upload}
    return Report(text, figures)


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
