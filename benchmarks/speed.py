"""`python -m benchmarks.speed`: how fast are pages, a first visit, posting and delivery?"""

import contextlib
import csv
import random
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import redis

import benchmarks.configured  # noqa: F401
from benchmarks import raw, run
from benchmarks.pages import HEADS, Homes, Page, Timeline, build_homes, heads, load_home, pages_of, require_size, row
from benchmarks.pictures import pictures
from benchmarks.plan import Plan, Report, table, times_table
from benchmarks.stand import Place, embedded_store, empty_view, site, wait_for
from benchmarks.visitor import Viewer, Visitor, WrongAnswer, people
from benchmarks.wrk import AT_RANDOM, Result, Target, race, target, warm_up
from retwis_site.store import keys

STAR, UNFOLLOWED, FIRST_FOLLOWER = 1, 2, 10  # uids
HOME_LENGTH = 20  # ids in each home before the first post
POLL_INTERVAL = 0.002  # seconds
DELIVERY_TIMEOUT = 300.0  # seconds
ARRIVALS = 20  # posts a second, and as many follows
KEPT = 0.95  # least part of them that must be sent
SENDERS = 32  # threads, so that a slow response does not delay the next form
LEAD = 1  # seconds from the first arrival to the measurement


# ---- pages


def pages(plan: Plan) -> Report:
    """Each page compared with the empty view."""
    figures: dict[str, float] = {}
    with embedded_store(plan.folder) as place:
        place.seed(plan.users, plan.posts, plan.follows)
        with empty_view(place, plan.folder / "empty.log") as empty, site(place, plan.folder / "site.log") as port:
            base = target(empty, [("/", "")], plan.folder / "empty.lua")
            shipped = _measure(plan, pages_of(place.client, port, plan.viewers), port, base, figures)
    text = f"""\
The pages as shipped (`manage.py serve`):

{shipped}
The bytes of a response include its headers. Failures are responses with an error status, and broken connections."""
    return Report(text, figures)


def _measure(plan: Plan, pages: list[Page | Timeline], port: int, base: Target, figures: dict[str, float]) -> str:
    """The table of all pages. Each page is checked before and after. Fills `figures`."""
    sizes = {page.name: page.check(port) for page in pages}
    targets = {page.name: page.target(port, plan.folder) for page in pages}
    warm_up([base, *targets.values()])
    rows = []
    for clients in plan.clients:
        for name, result in race(base, targets, clients, plan.rounds, plan.seconds).items():
            rows.append(row(name, clients, result))
            require_size(name, result, sizes[name])
            figures[f"{name}, {clients}"] = result.ratio
            if clients == plan.clients[0]:
                figures[f"{name}, tail"] = result.tail
    for page in pages:
        page.check(port)
    return table(HEADS, rows)


# ---- many users, and first visits


def visits(plan: Plan) -> Report:
    """Homes of many users at random, and homes that are built."""
    figures: dict[str, float] = {}
    with embedded_store(plan.folder) as place:
        place.seed(plan.many_users, plan.many_users_posts, plan.follows)
        users = list(people(place.client).values())
        with empty_view(place, plan.folder / "empty.log") as empty, site(place, plan.folder / "site.log") as port:
            base = target(empty, [("/", "")], plan.folder / "empty.lua")
            built = build_homes(port, users)
            place.settle()
            homes = target(port, [("/", user.header) for user in users], plan.folder / "homes.lua", AT_RANDOM)
            at_random = _at_random(plan, homes, base, built, figures)
            arriving = _arriving(plan, Arrivals(place, port, homes, users), figures)
            first = _first_visits(plan, place.client, port, users, figures)
            built.check(port, plan.viewers)
    text = f"""\
Another store: {plan.many_users:,} users, {plan.many_users_posts:,} posts and {plan.follows} follows each. Every home is
loaded and checked before the measurement, so it is built; {built.full:,} homes show a full page. {plan.viewers} of them
are checked again afterwards. `wrk` has {plan.clients[0]} clients and draws each visit at random from the homes of all
users; each run draws others. A subject and its baseline run in turn, {plan.rounds} rounds.

{at_random}
{arriving}
{first}"""
    return Report(text, figures)


def _at_random(plan: Plan, homes: Target, base: Target, built: Homes, figures: dict[str, float]) -> str:
    warm_up([base, homes])
    result = race(base, {"home": homes}, plan.clients[0], plan.rounds, plan.seconds)["home"]
    require_size("home at random", result, built.size)
    figures |= {"home at random": result.ratio, "home at random, tail": result.tail}
    return table(HEADS, [row(f"home, {plan.many_users:,} viewers at random", plan.clients[0], result)])


@dataclass(frozen=True)
class Arrivals:
    """Homes at random, while random users send forms of posts and follows in turn, at a steady pace."""

    place: Place
    port: int
    homes: Target
    users: Sequence[Viewer]
    rng: random.Random = field(default_factory=lambda: random.Random(3))

    def run(self, clients: int, seconds: float) -> Result:
        """Raises WrongAnswer for a form that is refused, RuntimeError when the pace is not kept."""
        numbers, began, stop = count(), time.monotonic(), Event()

        def send() -> int:
            with contextlib.closing(Visitor(self.port)) as visitor:
                for sent in count():
                    due = began + next(numbers) / (2 * ARRIVALS)
                    if stop.wait(max(0.0, due - time.monotonic())):
                        break
                    self._send(visitor, is_post=sent % 2 == 0)
            return sent

        with ThreadPoolExecutor(SENDERS) as threads:
            sending = [threads.submit(send) for _ in range(SENDERS)]
            try:
                time.sleep(LEAD)
                result = self.homes.run(clients, seconds)
            finally:
                stop.set()
                pace = sum(each.result() for each in sending) / (time.monotonic() - began)
        if pace < 2 * ARRIVALS * KEPT:
            raise RuntimeError(f"{pace:.0f} posts and follows a second instead of {2 * ARRIVALS}")
        wait_for(lambda: delivered(self.place.client), "the deliveries", DELIVERY_TIMEOUT)
        self.homes.run(clients, LEAD)  # so that the quiet run that follows does not pay for them
        return result

    def _send(self, visitor: Visitor, *, is_post: bool) -> None:
        me, them = self.rng.sample(self.users, 2)
        visitor.cookies = me.cookies
        path, form = f"/@{them.name}/follow/", {"csrfmiddlewaretoken": me.csrf}
        if is_post:
            path = "/post/"
            form |= {"token": secrets.token_hex(8), "body": f"A post of {me.name} while homes are read"}
        answer = visitor.post(path, **form)
        if answer.status != 302:
            raise WrongAnswer(f"{path}: {answer.status}")


def _arriving(plan: Plan, arrivals: Arrivals, figures: dict[str, float]) -> str:
    """A text on homes at random while others write, compared with the same homes on the quiet site. Fills `figures`."""
    result = race(arrivals.homes, {"": arrivals}, plan.clients[0], plan.rounds, plan.seconds)[""]
    figures["home with arrivals"] = result.ratio
    return f"""\
The same homes while random users send the forms of {ARRIVALS} posts and {ARRIVALS} follows a second, at a steady pace
from {LEAD} s earlier on, compared with the quiet site:

{table(heads("quiet site"), [row("home while forms arrive", plan.clients[0], result)])}"""


def _first_visits(
    plan: Plan, client: redis.Redis, port: int, viewers: Sequence[Viewer], figures: dict[str, float]
) -> str:
    """A text on homes that are built, compared with the same homes before. Fills `figures`."""
    follows = dict(zip(viewers, _ask(client, viewers, lambda pipe, uid: pipe.zcard(keys.following(uid))), strict=True))
    chosen = sorted(viewers, key=lambda viewer: abs(follows[viewer] - plan.follows))[: plan.first_visitors]
    times: dict[str, list[float]] = {"built": [], "first visit": []}
    with contextlib.closing(Visitor(port)) as visitor:
        for _ in range(plan.rounds):
            for name, measured in times.items():
                if name == "first visit":
                    _ask(client, chosen, lambda pipe, uid: pipe.unlink(keys.home(uid)))
                measured += [load_home(visitor, viewer)[1] * 1e3 for viewer in chosen]
            if not all(_ask(client, chosen, lambda pipe, uid: pipe.llen(keys.home(uid)))):
                raise RuntimeError("a home was not built")
    built, first = (statistics.median(measured) for measured in times.values())
    figures["first visit"] = first / built
    return f"""\
The first visit of {len(chosen)} users who follow about {plan.follows} people, one request at a time. In each of
{plan.rounds} rounds every home is loaded once; then `UNLINK posts:<uid>` drops all of these homes; then every home is
loaded once more, which builds it. There is one connection, so its web worker has shown each of these homes before in
both cases. The first visit takes **{first / built:.1f} times** as long (ratio of the medians).

{times_table("home", times, 2)}"""


def _ask(client: redis.Redis, viewers: Sequence[Viewer], command: Callable[[redis.Redis, int], object]) -> list[int]:
    """The replies to a command for each viewer, in one round trip."""
    pipe = client.pipeline(transaction=False)
    for viewer in viewers:
        command(pipe, viewer.uid)
    return list(pipe.execute())


# ---- a post with very many followers


def _authors(plan: Plan, place: Place) -> tuple[Viewer, Viewer]:
    """Load two authors: one with `plan.followers` followers, and one without. All users have a home."""
    followers = range(FIRST_FOLLOWER, FIRST_FOLLOWER + plan.followers)
    raw.load(place.client, raw.counters(FIRST_FOLLOWER + plan.followers, HOME_LENGTH))
    raw.load(place.client, raw.people([STAR, UNFOLLOWED]))
    raw.load(place.client, raw.posts(raw.demo_texts(HOME_LENGTH), 2))
    raw.load(place.client, raw.one_side(keys.followers(STAR), followers))
    raw.load(place.client, raw.homes([STAR, UNFOLLOWED, *followers], HOME_LENGTH))
    place.settle()
    return raw.viewer(STAR), raw.viewer(UNFOLLOWED)


def write(visitor: Visitor, text: str) -> float:
    """Load a page and send its form for a new post. Returns the seconds that the form takes, without the page."""
    page = visitor.get("/")
    form = {"csrfmiddlewaretoken": page.field("csrfmiddlewaretoken"), "token": page.field("token"), "body": text}
    answer = visitor.post("/post/", **form)
    if (answer.status, answer.location) != (302, "/"):
        raise WrongAnswer(f"/post/: {answer.status} {answer.location}")
    return answer.seconds


def delivered(client: redis.Redis) -> bool:
    return client.zcard(keys.outbox("")) == 0


# ---- delivery


def _deliver(place: Place, visitor: Visitor, text: str) -> tuple[float, float]:
    """Seconds that the form takes, and seconds from sending it until the worker has finished."""
    began = time.perf_counter()
    seconds = write(visitor, text)
    wait_for(lambda: delivered(place.client), "the delivery", DELIVERY_TIMEOUT, POLL_INTERVAL)
    return seconds, time.perf_counter() - began


def _check_homes(place: Place, plan: Plan, pid: str) -> None:
    """Raise WrongAnswer unless post `pid` is the newest in the homes of all followers."""
    pipe = place.client.pipeline(transaction=False)
    for uid in range(FIRST_FOLLOWER, FIRST_FOLLOWER + plan.followers):
        pipe.lindex(keys.home(uid), 0)
    if missing := sum(head != pid for head in pipe.execute()):
        raise WrongAnswer(f"{missing} homes lack post {pid}")


def redis_benchmark(place: Place, plan: Plan) -> float:
    """Pushes per second of redis-benchmark, the baseline of the goal."""
    path = place.client.connection_pool.connection_kwargs["path"]
    command = ["redis-benchmark", "-s", path, "-c", "1", "-P", "100", "-r", "100000", "-n", str(plan.pushes), "--csv"]
    done = subprocess.run(
        [*command, "lpushx", "posts:__rand_int__", "1"], capture_output=True, text=True, check=True, timeout=600
    )
    line = [row for row in csv.reader(done.stdout.splitlines()) if row and row[0].startswith("lpushx")][-1]
    return float(line[1])


def delivery(plan: Plan) -> Report:
    """A post's way to very many homes, and how long its form takes."""
    baselines: list[float] = []
    forms: dict[str, list[float]] = {f"{plan.followers:,} followers": [], "none": []}
    ways: list[float] = []  # seconds to all homes, a median for each round
    with embedded_store(plan.folder) as place:
        authors = _authors(plan, place)
        # redis-benchmark pads its keys with zeros. No home has such a key, so these lists are its own.
        raw.load(place.client, (("RPUSH", f"posts:{number:012}", *range(HOME_LENGTH)) for number in range(100_000)))
        place.settle()
        with site(place, plan.folder / "site.log") as port:
            for number in range(plan.rounds):
                baselines.append(redis_benchmark(place, plan))
                visitors = [Visitor(port, author.cookies) for author in authors]  # a kept connection would be closed
                for visitor in visitors:
                    _deliver(place, visitor, f"warm-up {number}")
                took = []
                for name, visitor in [*zip(forms, visitors, strict=True)] * (plan.forms // plan.rounds):
                    form, way = _deliver(place, visitor, f"post {number}, with followers: {name}")
                    forms[name].append(form * 1e3)
                    took += [way] if visitor is visitors[0] else []
                for visitor in visitors:
                    visitor.close()
                ways.append(statistics.median(took))
                _check_homes(place, plan, str(place.client.zrange(keys.updates(STAR), -1, -1)[0]))
    rate, way = statistics.median(baselines), statistics.median(ways)
    ratios = [plan.followers / way / rate for way, rate in zip(ways, baselines, strict=True)]
    ratio, (many, none) = statistics.median(ratios), map(statistics.median, forms.values())
    rows = [["`redis-benchmark`", f"{rate:,.0f}", "1", ""], ["a post, from its form to its last home"]]
    rows[1] += [f"{plan.followers / way:,.0f}", f"**{ratio:.2f}**", f"{min(ratios):.2f} to {max(ratios):.2f}"]
    text = f"""\
An author with {plan.followers:,} followers sends a post by the form of the site. Each follower has a home of
{HOME_LENGTH} ids or a few more. The whole path is measured: the request, the job in the outbox, the worker that polls
twenty times per second, and the pushes, until the job is gone from the outbox. Then every home has the post at its
head. The baseline runs in turn with it, on the same server and socket, {plan.rounds} rounds, onto 100,000 lists that
had {HOME_LENGTH} ids: `redis-benchmark -c 1 -P 100 -r 100000 -n {plan.pushes} lpushx posts:__rand_int__ 1`.

{table(["run", "homes per second", "ratio", "lowest to highest"], rows)}
An author without followers posts in turn with it. Each form has the tokens of a page that was loaded just before, on
the same connection; the next one is sent when the last delivery has ended. `POST /post/` takes
**{many / none:.2f} times** as long with the followers (ratio of the medians).

{times_table("followers", forms)}"""
    return Report(text, {"delivery": ratio, "post": many / none})


PARTS = {"pages": pages, "visits": visits, "pictures": pictures, "delivery": delivery}

if __name__ == "__main__":
    sys.exit(run.main("speed", PARTS))
