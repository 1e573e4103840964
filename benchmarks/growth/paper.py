"""`python -m benchmarks.growth.paper`: what a site of three sizes needs, computed from the measurements of `growth`.

The same tables are in docs/scaling.md; a test compares them. To try other numbers, change them and run it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

DAY = 86_400

# ---- assumed

MONTHLY = 0.4  # of all users come within 30 days, and so have a home
DAILY = 0.2  # of all users come on a day
VIEWS = 20  # a day, of a user who comes
# Of a hundred views; a post or a follow counts as a view.
MIXTURE = {"home": 60, "profile": 10, "own profile": 5, "global timeline": 10, "post": 10, "publish": 4, "follow": 1}
FOLLOWED = 100  # by a user
REACH = 10  # the followers of a post's author, as a multiple of the average (seeded site: 11.5)
KEPT = 365  # days that posts stay in memory
CROWDED = 0.5  # of all edges and entries of `updates:` are in sets of more than 128
LATE = 0.5  # of all pushes are done by a worker: their author has more followers than DELIVER_INLINE_LIMIT
PEAK = 3  # times the average of the day
NODE = 64e9  # bytes of memory; one core
FILLED = 0.5  # of a node's memory and core, at most
CORES = 16  # of a web machine
BUSY = 0.5  # of them, at most

ASSUMED = [
    ("users who come within 30 days, and so have a home", f"{MONTHLY:.0%}"),
    ("users who come on a day", f"{DAILY:.0%}"),
    ("views a day of a user who comes", f"{VIEWS}"),
    ("of a hundred views", ", ".join(f"{share} {name}" for name, share in MIXTURE.items())),
    ("followed by a user", f"{FOLLOWED}"),
    ("followers of a post's author", f"{REACH} times as many"),
    ("posts in memory", f"of {KEPT} days"),
    ("edges and entries of `updates:` in sets of more than 128", f"{CROWDED:.0%}"),
    ("pushes by a worker", f"{LATE:.0%}"),
    ("peak", f"{PEAK} times the day's average"),
    ("a node", f"{NODE / 1e9:.0f} GB and a core, {FILLED:.0%} used at most"),
    ("a web machine", f"{CORES} cores, {BUSY:.0%} used at most"),
]


@dataclass(frozen=True)
class View:
    """What a view costs: the keys in each round trip, the number of commands, and milliseconds of the web process.

    The web process has cached nothing, since a large site has many web processes."""

    round_trips: Sequence[int]
    commands: int
    web: float


@dataclass(frozen=True)
class Weights:
    """Bytes of the entries whose size depends on the settings of the server."""

    user: float
    post: tuple[float, float]
    updates_crowded: tuple[float, float]  # an entry, in sets of more than 128
    edge_crowded: float


# ---- measured: `python -m benchmarks.growth`; bytes, and microseconds of processor time

VIEWED = {
    "home": View((1, 5, 1, 20, 9), 36, 4.2),
    "profile": View((1, 1, 9, 22, 2), 36, 3.7),
    "own profile": View((1, 1, 6, 20), 29, 3.4),
    "global timeline": View((1, 4, 50, 50), 105, 7.8),
    "post": View((1, 1, 6), 8, 1.4),
    # With the sign-in and the rate limit, without the pushes.
    "publish": View((1, 2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1), 22, 2.0),
    "follow": View((1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 1), 18, 1.5),
}
# A follow adds this to the next home.
REBUILT = View((1, 1, FOLLOWED + 1, 20, 1, 1), FOLLOWED + 26, 2.7)
PUBLISH_WRITES, FOLLOW_WRITES = 13, 8
# A server's work for a message, for a command of a page in it, and for one of many pushes. The 26 commands of a warm
# home take 48 in two messages, and 187 in one message for each command.
MESSAGE, COMMAND, PUSH = 5.2, 1.5, 2.1
WORKER_PUSH, WEB_MESSAGE = 6.6, 25.0  # a worker's work for a push; a worker's or web process's work for a message
# Pairs: with ids of 7 digits, and of 16.
DEFAULT = Weights(499, (446, 477), (110, 126), 221)
COMPACT = Weights(282, (257, 279), (11, 22), 25)  # hash-max-listpack-value 1200, zset-max-listpack-entries 1024
UPDATES, EDGE, TOKEN = (11, 22), 28, 165
HOME = (5356, 10488)
SINGLE = {"users": 74, "auths": 106, "users_by_time": 112}
WIRED = {"users": 16.8, "auths": 37.6, "users_by_time": 19.9}  # bytes of an entry in MIGRATE
MOVED = {"users": 550_000, "auths": 420_000, "users_by_time": 850_000}  # entries that MIGRATE moves in half a second
# The commands of each view to the single keys, and the cost of such a command for its server.
HOT = {
    "auths": (dict.fromkeys(MIXTURE, 2), 6.2),  # one to find the viewer, and one to check
    "users": ({"profile": 2, "own profile": 2, "post": 2, "follow": 2}, 6.8),
    "timeline": ({"global timeline": 1, "publish": 1}, 12.0),
    "users_by_time": ({"global timeline": 1}, 6.0),
    "outbox": ({"publish": 3, "follow": 2}, 5.9),
    "next_post_id": ({"publish": 1}, 5.4),
}
LONGEST_BULK = 512 * 2**20  # bytes: `proto-max-bulk-len`


@dataclass(frozen=True)
class Site:
    """A site with a number of users, and the load and memory that follow from it."""

    users: float
    long_ids: bool  # post ids have 16 digits, not 7

    @property
    def views(self) -> float:
        """Per second, at the peak."""
        return self.users * DAILY * VIEWS / DAY * PEAK

    def per_second(self, view: str) -> float:
        return self.views * MIXTURE[view] / 100

    @property
    def _rates(self) -> list[tuple[float, View]]:
        """Each kind of view with its rate per second, at the peak. Every follow causes a rebuild."""
        return [(self.per_second(name), view) for name, view in [*VIEWED.items(), ("follow", REBUILT)]]

    @property
    def posts(self) -> float:
        """The number of posts in memory."""
        return self.per_second("publish") / PEAK * DAY * KEPT

    @property
    def pushes(self) -> float:
        """Per second, at the peak, to existing and missing homes."""
        return self.per_second("publish") * FOLLOWED * REACH

    @property
    def writes(self) -> float:
        """Commands per second that change something, at the peak."""
        pushed = self.pushes * MONTHLY
        return self.per_second("publish") * PUBLISH_WRITES + self.per_second("follow") * FOLLOW_WRITES + pushed

    @property
    def commands(self) -> float:
        """Per second, at the peak."""
        viewed = sum(self.per_second(name) * view.commands for name, view in VIEWED.items())
        return viewed + self.per_second("follow") * REBUILT.commands + self.pushes

    def memory(self, weights: Weights = DEFAULT) -> dict[str, float]:
        """Bytes of each kind."""
        updates = _mixed(UPDATES[self.long_ids], weights.updates_crowded[self.long_ids])
        return {
            "users": self.users * (weights.user + sum(SINGLE.values())),
            "edges": self.users * FOLLOWED * _mixed(EDGE, weights.edge_crowded),
            "posts": self.posts * (weights.post[self.long_ids] + updates) + self.posts / KEPT * TOKEN,
            "homes": self.users * MONTHLY * HOME[self.long_ids],
        }

    @property
    def bytes(self) -> float:
        return sum(self.memory().values())

    def nodes(self) -> tuple[int, int, int]:
        """The number of nodes for the memory, the number for the work, and the number needed.

        The second grows with the third: with more nodes, the keys of a page are on more of them, and each gets its own
        message."""
        by_memory = ceil(self.bytes / NODE / FILLED)
        nodes = max(3, by_memory)
        while (by_cpu := ceil(self.core_seconds(nodes) / FILLED)) > nodes:
            nodes = by_cpu
        return by_memory, by_cpu, nodes

    def core_seconds(self, nodes: int) -> float:
        """Seconds of processor time per second, of all nodes together."""
        pages = sum(rate * (messages(view, nodes) * MESSAGE + view.commands * COMMAND) for rate, view in self._rates)
        return (pages + self.pushes * (PUSH + MESSAGE * messages_a_push(nodes))) / 1e6

    def web_cores(self, nodes: int) -> float:
        pages = sum(rate * (view.web * 1e3 + messages(view, nodes) * WEB_MESSAGE) for rate, view in self._rates)
        return (pages + self.pushes * (1 - LATE) * _worker(nodes)) / 1e6

    def workers(self, nodes: int) -> float:
        """The number of workers, if all are busy all the time."""
        return self.pushes * LATE * _worker(nodes) / 1e6


def _mixed(compact: float, crowded: float) -> float:
    return compact * (1 - CROWDED) + crowded * CROWDED


def _worker(nodes: int) -> float:
    return WORKER_PUSH + WEB_MESSAGE * messages_a_push(nodes)


def servers_asked(keys: int, nodes: int) -> float:
    """On how many of the nodes the keys are, on average."""
    return nodes * (1 - (1 - 1 / nodes) ** keys)


def messages(view: View, nodes: int) -> float:
    return sum(servers_asked(keys, nodes) for keys in view.round_trips)


def messages_a_push(nodes: int) -> float:
    """One message has all pushes of a chunk to one server. Chunks are half full: many authors have few followers."""
    return servers_asked(1024, nodes) / 1024


SITES = [Site(1e6, long_ids=False), Site(1e8, long_ids=True), Site(1e9, long_ids=True)]


def assumptions() -> str:
    return table(["assumed", ""], ASSUMED)


def sizes() -> str:
    """A table of what each of SITES needs."""
    rows: list[tuple[str, ...]] = [
        ("views a second, at the peak", *(short(site.views) for site in SITES)),
        ("posts a second, at the peak", *(short(site.per_second("publish")) for site in SITES)),
        ("pushes a second", *(short(site.pushes) for site in SITES)),
        ("writes a second", *(short(site.writes) for site in SITES)),
        ("commands a second", *(short(site.commands) for site in SITES)),
        ("posts in memory", *(short(site.posts) for site in SITES)),
        *((f"memory: {kind}", *(gigabytes(site.memory()[kind]) for site in SITES)) for kind in SITES[0].memory()),
        ("memory", *(gigabytes(site.bytes) for site in SITES)),
        ("the same, compact", *(gigabytes(sum(site.memory(COMPACT).values())) for site in SITES)),
    ]
    found = [site.nodes() for site in SITES]
    web = [ceil(site.web_cores(nodes) / CORES / BUSY) for site, (*_, nodes) in zip(SITES, found, strict=True)]
    workers = [ceil(site.workers(nodes) / BUSY) for site, (*_, nodes) in zip(SITES, found, strict=True)]
    connections = [machines * CORES + count for machines, count in zip(web, workers, strict=True)]
    rows += [
        ("nodes for the memory", *(short(by_memory) for by_memory, _, _ in found)),
        ("nodes for the work", *(short(by_cpu) for _, by_cpu, _ in found)),
        ("nodes, at least three", *(short(nodes) for *_, nodes in found)),
        ("web machines", *(short(count) for count in web)),
        ("workers", *(short(count) for count in workers)),
        ("connections to each node, one a web process", *(short(count) for count in connections)),
    ]
    return table(["", "1 million", "100 million", "a billion"], rows)


def binding() -> str:
    """A table of the number of users at which each single key becomes the limit."""
    rows = [
        (
            f"`{key}`",
            short(MOVED[key]),
            short(LONGEST_BULK / WIRED[key]),
            short(NODE * FILLED / size),
            short(NODE / size),
        )
        for key, size in SINGLE.items()
    ]
    heads = ["key", "MIGRATE takes 0.5 s", "MIGRATE is refused", "half of a node's memory", "all of it"]
    return table(heads, rows)


def hot() -> str:
    """A table of the load of a billion users on each single key, and of the users that keep half a core busy."""
    site, rows = SITES[-1], []
    for key, (asked, cost) in HOT.items():
        rate = sum(site.per_second(view) * count for view, count in asked.items())
        core = rate * cost / 1e6
        rows.append((f"`{key}`", short(rate), f"{core:.0%}", short(site.users * FILLED / core)))
    return table(["key", "commands a second, a billion users", "of a core", "half a core at"], rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:]]) + "\n"


def short(number: float) -> str:
    """A number with two significant digits, and `million` or `billion` when it is large."""
    for unit, name in ((1e9, " billion"), (1e6, " million")):
        if number >= unit:
            return f"{_two(number / unit):,.10g}{name}"
    return f"{_two(number):,.10g}"


def gigabytes(number: float) -> str:
    return f"{_two(number / 1e12):,.10g} TB" if number >= 1e12 else f"{_two(number / 1e9):,.10g} GB"


def _two(number: float) -> float:
    """Rounded to two significant digits; the inputs are not more exact."""
    return float(f"{number:.2g}")


if __name__ == "__main__":
    print(assumptions(), sizes(), binding(), hot(), sep="\n")
