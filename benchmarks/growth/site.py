"""A seeded site on a cluster: how keys and work spread, what pages cost, how fast posts are delivered."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.test import Client

from accounts.signing_in.viewer import Viewer
from benchmarks.growth.measure import Reading, RoundTrip, pack, reading, table
from benchmarks.growth.paper import MIXTURE
from retwis_site.jobs import worker
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Store
from retwis_site.store.connection import topology
from retwis_site.store.connection.recorder import Recording, recording
from retwis_site.store.connection.transport import OneServer
from retwis_site.store.local_cache import Memory
from tests.support.stores.topologies import Server
from timeline.demo import seeding
from timeline.posts.entities import NewPost
from timeline.posts.reading.one_post import one_post
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import Profiles

OPTIONS: dict[str, Any] = {"decode_responses": True, "protocol": 2, "driver_info": None}
Page = Callable[[int], object]  # takes the uid of the viewer


def store_of(servers: list[Server]) -> Store:
    """A new Store on running servers: a cluster, or a single server."""
    if len(servers) == 1:
        return Store(OneServer(redis.Redis(port=servers[0].port, **OPTIONS)))
    return Store(topology.cluster([f"redis://127.0.0.1:{server.port}" for server in servers], {}))


def total(servers: list[Server]) -> Reading:
    each = [reading(server.client) for server in servers]
    return Reading(sum(r.cpu for r in each), sum(r.memory for r in each), sum(r.commands for r in each))


def seed(store: Store, users: int, posts: int, follows: int) -> None:
    plan = seeding.Plan(users, posts, follows, seed=1)
    seeding.set_counters(store, plan)
    for batch in batches(seeding.Community(plan, make_password("a password")).steps(), seeding.BATCH):
        seeding.write(store, batch)


@dataclass(frozen=True)
class Site:
    """A seeded store, with the pages and forms of its users."""

    store: Store
    users: int
    posts: int

    @cached_property
    def secrets(self) -> dict[int, str]:
        return {int(uid): secret for part in self.store.hash_fields(keys.auths(), 1000) for secret, uid in part}

    @cached_property
    def names(self) -> dict[int, str]:
        return {int(uid): name for part in self.store.hash_fields(keys.users(), 1000) for name, uid in part}

    def viewer(self, uid: int) -> Viewer:
        return Viewer(self.store, self.secrets[uid])

    @cached_property
    def some_posts(self) -> list[tuple[int, str]]:
        """Random posts: (id, name of the author). Authors of many posts are more frequent, as on a real site."""
        pids = random.choices(range(1, self.posts + 1), k=2000)
        return [(pid, self.names[int(self.store.hget(keys.post(pid), "user_id") or 0)]) for pid in pids]

    def pages(self, pid: int, name: str) -> dict[str, Page]:
        """The actions of a viewer by name. `pid` is the post and `name` the user that an action is about."""
        uid = self.store.hget(keys.users(), name)
        return {
            "home": lambda me: Homes(self.store).page(self.viewer(me), None),
            "own profile": lambda me: Profiles(self.store).page(self.viewer(me), self.names[me], None),
            "profile": lambda me: Profiles(self.store).page(self.viewer(me), name, None),
            "global timeline": lambda me: EveryoneTimeline(self.store).page(self.viewer(me), None, 50),
            "post": lambda me: one_post(self.viewer(me), name, pid),
            "publish": lambda me: Posts(self.store).publish(me, NewPost("Hello to everybody out there"), token()),
            "follow": lambda me: Follows(self.store).follow(me, int(uid or 0)),
        }


def token() -> str:
    return f"{random.getrandbits(128):032x}"


def recorded_of(page: Page, me: int) -> Recording:
    with recording() as recorded:
        page(me)
    return recorded


@dataclass(frozen=True)
class StoreUse:
    """What a page needs of the store: the number of keys in each round trip, and the number of all commands."""

    keys: list[int]
    commands: int


Uses = dict[str, tuple[StoreUse, StoreUse]]  # by page: with an empty cache, and with a full one


def store_use(recorded: Recording) -> StoreUse:
    return StoreUse(
        [len({command[1] for command in round_trip.commands}) for round_trip in recorded.round_trips],
        len(recorded.commands),
    )


def round_trips(site: Site, me: int) -> Uses:
    """The use of the store by each page: with an empty cache of the process, and with a full one."""
    uses = {}
    for name, page in site.pages(*a_post_for(site, me)).items():
        page(me)  # rebuilds and renews what is due
        Memory.clear_all()
        uses[name] = store_use(recorded_of(page, me)), store_use(recorded_of(page, me))
    site.store.unlink(keys.home(me))
    warm = store_use(recorded_of(site.pages(1, site.names[1])["home"], me))
    uses["home, rebuilt"] = warm, warm
    return uses


def a_post_for(site: Site, me: int) -> tuple[int, str]:
    """The newest post of the first followed user with a post, and the user's name. It is the same on each store."""
    for them in site.store.zrange(keys.following(me), 0, -1):
        written = site.store.zrevrangebyscore(keys.updates(int(them)), "+inf", "-inf", 1)
        if written:
            return int(written[0]), site.names[int(them)]
    raise LookupError(me)


def captured(site: Site, name: str, viewers: range) -> list[list[RoundTrip]]:
    """The packed round trips of a warm page, a list for each viewer.

    Only viewers with the most frequent number of round trips are kept, since `drive` needs equal works."""
    works = []
    for me in viewers:
        page = site.pages(*a_post_for(site, me))[name]
        page(me)
        works.append([pack(round_trip.commands) for round_trip in recorded_of(page, me).round_trips])  # type: ignore[arg-type]
    usual = Counter(len(work) for work in works).most_common(1)[0][0]
    return [work for work in works if len(work) == usual]


# ---- the mixture of views, as browsers request it


def browse(site: Site, views: int) -> None:
    """Request `views` random views of the mixture, each by a random user. No HTTP server takes part."""
    chosen = random.choices(list(MIXTURE), list(MIXTURE.values()), k=views)
    for name in chosen:
        request_view(site, name, random.randint(1, site.users))


def request_view(site: Site, name: str, me: int) -> None:
    client = Client()
    client.cookies[settings.AUTH_COOKIE] = site.secrets[me]
    pid, them = random.choice(site.some_posts)
    own = f"/@{site.names[me]}/"
    if name == "publish":
        answer = client.post("/post/", {"body": f"Hello from {me}", "token": token()})
    elif name == "follow":
        answer = client.post(f"/@{them}/follow/")
    else:
        addresses = {"home": "/", "profile": f"/@{them}/", "own profile": own, "global timeline": "/timeline/"}
        answer = client.get({**addresses, "post": f"/@{them}/{pid}/", "nothing": "/livez"}[name])
    assert answer.status_code in {200, 302, 429}, answer.status_code


def web_cost(site: Site, name: str, views: int) -> tuple[float, float]:
    """Milliseconds of processor time of a web process for a view: with an empty cache, and with a full one.

    The share of the HTTP server is not included."""
    viewers = [random.randint(1, site.users) for _ in range(views)]
    used = [0.0, 0.0]
    for me in viewers:
        request_view(site, name, me)  # rebuilds and renews what is due
        Memory.clear_all()
        for warm in (0, 1):
            began = time.process_time()
            request_view(site, name, me)
            used[warm] += time.process_time() - began
    return used[0] / views * 1e3, used[1] / views * 1e3


# ---- delivery


@dataclass(frozen=True)
class Delivery:
    """The delivery of a post to many homes by a worker."""

    followers: int
    rate: float  # pushes per second
    worker_cpu: float  # microseconds a push
    server_cpu: float  # microseconds a push


def deliver(site: Site, servers: list[Server], author: int) -> Delivery:
    """Deliver a post by an author whom all users follow."""
    followers = {str(uid): 1 for uid in range(1, site.users + 1) if uid != author}
    for part in batches(followers.items(), 1000):
        site.store.zadd(keys.followers(author), dict(part))
    site.pages(1, site.names[author])["publish"](author)
    before, began, cpu_began = total(servers), time.perf_counter(), time.process_time()
    worker.drain(site.store, "a worker")
    took, own, used = time.perf_counter() - began, time.process_time() - cpu_began, total(servers).since(before)
    count = len(followers)
    return Delivery(count, count / took, own / count * 1e6, used.cpu / count * 1e6)


def spread(
    servers: list[Server], before: list[Reading], what: str, view: Callable[[Reading], float]
) -> tuple[str, ...]:
    """A table row: the share of each server in the growth of a counter since `before`, and the whole growth."""
    grown = [view(reading(s.client).since(b)) for s, b in zip(servers, before, strict=True)]
    return (what, *(f"{growth / sum(grown):.1%}" for growth in grown), f"{sum(grown):,.0f}")


def round_trips_table(on_cluster: Uses, on_one: Uses) -> str:
    """A Markdown table of the results of `round_trips` on a cluster and on one server."""
    rows = []
    for name, (cold, warm) in on_cluster.items():
        counts = [len(use.keys) for use in (cold, warm, *on_one[name])]
        plus = (" + ".join(map(str, use.keys)) for use in (cold, warm))
        rows.append((name, *counts, cold.commands, warm.commands, *plus))
    heads = ["page", "cluster, cold", "warm", "one server, cold", "warm", "commands, cold", "warm"]
    return table([*heads, "keys a round trip, cold", "warm"], rows)
