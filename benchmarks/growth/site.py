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
from retwis_site.store.client import Store
from retwis_site.store.connection import topology
from retwis_site.store.connection.transport import OneServer
from retwis_site.store.local_cache import Memory
from retwis_site.store.recorder import Recording, recording
from tests.support.stores.topologies import Server
from timeline.demo import seeding
from timeline.posts.reader import one_post
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import Profiles

OPTIONS: dict[str, Any] = {"decode_responses": True, "protocol": 2, "driver_info": None}
Page = Callable[[int], object]  # for a viewer


def store_of(servers: list[Server]) -> Store:
    """A store of our own on servers that stand: a cluster, or one."""
    if len(servers) == 1:
        return Store(OneServer(redis.Redis(port=servers[0].port, **OPTIONS)))
    return Store(topology.cluster([f"redis://127.0.0.1:{server.port}" for server in servers], {}))


def total(servers: list[Server]) -> Reading:
    each = [reading(server.client) for server in servers]
    return Reading(sum(r.cpu for r in each), sum(r.memory for r in each), sum(r.commands for r in each))


def seed(store: Store, users: int, posts: int, follows: int) -> None:
    plan = seeding.Plan(users, posts, follows, seed=1)
    seeding.set_counters(store, plan)
    for batch in seeding.batches(seeding.Community(plan, make_password("a password")).steps(), seeding.BATCH):
        seeding.write(store, batch)


@dataclass(frozen=True)
class Site:
    """A store that was seeded, and the pages that somebody reads and the forms that they send."""

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
        """Ids and their authors' names: so the wordy are met more often, as on a site."""
        pids = random.choices(range(1, self.posts + 1), k=2000)
        return [(pid, self.names[int(self.store.hget(keys.post(pid), "user_id") or 0)]) for pid in pids]

    def pages(self, pid: int, name: str) -> dict[str, Page]:
        """What a person does, by what it is called; `pid` and `name`: the post and the person that it is about."""
        someone = self.store.hget(keys.users(), name)
        return {
            "home": lambda me: Homes(self.store).page(self.viewer(me), None),
            "own profile": lambda me: Profiles(self.store).page(self.viewer(me), self.names[me], None),
            "profile": lambda me: Profiles(self.store).page(self.viewer(me), name, None),
            "global timeline": lambda me: EveryoneTimeline(self.store).page(self.viewer(me), None, 50),
            "post": lambda me: one_post(self.viewer(me), name, pid),
            "publish": lambda me: Posts(self.store).publish(me, "Hello to everybody out there", token()),
            "follow": lambda me: Follows(self.store).follow(me, int(someone or 0)),
        }


def token() -> str:
    return f"{random.getrandbits(128):032x}"


def recorded_of(page: Page, me: int) -> Recording:
    with recording() as recorded:
        page(me)
    return recorded


@dataclass(frozen=True)
class Asked:
    """What a page asks: how many keys in each round trip, and how many commands in all."""

    keys: list[int]
    commands: int


def asked(recorded: Recording) -> Asked:
    return Asked(
        [len({command[1] for command in round_trip.commands}) for round_trip in recorded.round_trips],
        len(recorded.commands),
    )


def round_trips(site: Site, me: int) -> dict[str, tuple[Asked, Asked]]:
    """Of each page, what it asks while the process remembers nothing, and once it remembers all."""
    found = {}
    for name, page in site.pages(*a_post_for(site, me)).items():
        page(me)  # rebuilds what is to be rebuilt, and renews it
        Memory.clear_all()
        found[name] = asked(recorded_of(page, me)), asked(recorded_of(page, me))
    site.store.unlink(keys.home(me))
    warm = asked(recorded_of(site.pages(1, site.names[1])["home"], me))
    found["home, rebuilt"] = warm, warm
    return found


def a_post_for(site: Site, me: int) -> tuple[int, str]:
    """The same on each store: the newest post of the first whom somebody follows and who wrote one."""
    for them in site.store.zrange(keys.following(me), 0, -1):
        written = site.store.zrevrangebyscore(keys.updates(int(them)), "+inf", "-inf", 1)
        if written:
            return int(written[0]), site.names[int(them)]
    raise LookupError(me)


def captured(site: Site, name: str, viewers: range) -> list[list[RoundTrip]]:
    """The trips of a warm page, packed, as viewer after viewer sends them."""
    works = []
    for me in viewers:
        page = site.pages(*a_post_for(site, me))[name]
        page(me)
        works.append([pack(round_trip.commands) for round_trip in recorded_of(page, me).round_trips])  # type: ignore[arg-type]
    usual = Counter(len(work) for work in works).most_common(1)[0][0]
    return [work for work in works if len(work) == usual]


# ---- the mixture, as browsers see it


def browse(site: Site, views: int) -> None:
    """So many views of the mixture, by whomever, through all of the site but the HTTP server."""
    chosen = random.choices(list(MIXTURE), list(MIXTURE.values()), k=views)
    for name in chosen:
        look(site, name, random.randint(1, site.users))


def look(site: Site, name: str, me: int) -> None:
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
    """Milliseconds of a web process's processor time a view, without the HTTP server's own share: while the process
    remembers nothing, and while it remembers what it saw in the last seconds."""
    viewers = [random.randint(1, site.users) for _ in range(views)]
    used = [0.0, 0.0]
    for me in viewers:
        look(site, name, me)  # rebuilds what is to be rebuilt
        Memory.clear_all()
        for warm in (0, 1):
            began = time.process_time()
            look(site, name, me)
            used[warm] += time.process_time() - began
    return used[0] / views * 1e3, used[1] / views * 1e3


# ---- delivery


@dataclass(frozen=True)
class Delivery:
    """One post, delivered by a worker to many homes."""

    followers: int
    a_second: float
    worker_cpu: float  # microseconds a push
    server_cpu: float


def deliver(site: Site, servers: list[Server], author: int) -> Delivery:
    """What a worker makes of a post by somebody whom everybody follows."""
    followers = {str(uid): 1 for uid in range(1, site.users + 1) if uid != author}
    for part in seeding.batches(followers.items(), 1000):
        site.store.zadd(keys.followers(author), dict(part))
    site.pages(1, site.names[author])["publish"](author)
    before, began, mine = total(servers), time.perf_counter(), time.process_time()
    worker.drain(site.store, "a worker")
    took, own, used = time.perf_counter() - began, time.process_time() - mine, total(servers).since(before)
    count = len(followers)
    return Delivery(count, count / took, own / count * 1e6, used.cpu / count * 1e6)


def spread(
    servers: list[Server], before: list[Reading], what: str, view: Callable[[Reading], float]
) -> tuple[str, ...]:
    """A row: how much of something each server has of all that was added since."""
    grown = [view(reading(s.client).since(b)) for s, b in zip(servers, before, strict=True)]
    return (what, *(f"{one / sum(grown):.1%}" for one in grown), f"{sum(grown):,.0f}")


def trips_table(on_cluster: dict[str, tuple[Asked, Asked]], on_one: dict[str, tuple[Asked, Asked]]) -> str:
    rows = []
    for name, (cold, warm) in on_cluster.items():
        counts = [len(one.keys) for one in (cold, warm, *on_one[name])]
        plus = (" + ".join(map(str, one.keys)) for one in (cold, warm))
        rows.append((name, *counts, cold.commands, warm.commands, *plus))
    heads = ["page", "cluster, cold", "warm", "one server, cold", "warm", "commands, cold", "warm"]
    return table([*heads, "keys a trip, cold", "warm"], rows)
