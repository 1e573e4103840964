"""`python -m benchmarks.speed`: how fast are pages, a first visit, posting and delivery?"""

import contextlib
import csv
import random
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import redis

import benchmarks.configured  # noqa: F401
from benchmarks import raw, run
from benchmarks.pages import CHECKED, Page, compare, full_homes, full_profiles, pages_of, race_table, visits_to_others
from benchmarks.pictures import pictures
from benchmarks.plan import Plan, Report, table
from benchmarks.stand import Place, embedded_store, empty_view, site
from benchmarks.visitor import Viewer, Visitor, WrongAnswer, people
from benchmarks.wrk import AT_RANDOM, CLIENTS, MANY_CLIENTS, Result, Target, race
from retwis_site.store import keys
from tests.support.processes.processes import wait_until

STAR, UNFOLLOWED, FIRST_FOLLOWER = 1, 2, 10  # uids
HOME_LENGTH = 20  # ids in each home before the first post
DELIVERY_TIMEOUT = 300.0  # seconds
ARRIVALS = 20  # posts a second, and as many follows
KEPT = 0.95  # least part of them that must be sent
SENDERS = 32  # threads, so that a slow response does not delay the next form
LEAD = 1  # seconds from the first arrival to the measurement


# ---- pages


def pages(plan: Plan) -> Report:
    """Each page compared with the empty view."""
    with embedded_store(plan.folder) as place:
        place.seed(plan.users, plan.posts, plan.follows)
        with empty_view(place) as empty, site(place) as port:
            measured = pages_of(place.client, port, plan.viewers)
            few, many = (compare(plan, empty, measured, clients) for clients in (CLIENTS, MANY_CLIENTS))
    text = f"""\
The pages as shipped (`manage.py serve`):

{race_table(empty.name, [*few, *many])}
The bytes of a response include its headers. Failures are responses with an error status, and broken connections."""
    rates = {f"{page.name}, {page.clients}": page.ratio for page in (*few, *many)}
    return Report(text, rates | {f"{page.name}, tail": page.tail for page in few})


# ---- many users, and first visits


def visits(plan: Plan) -> Report:
    """Homes of many users and their visits to others at random, and homes that are built."""
    with embedded_store(plan.folder) as place:
        place.seed(plan.many_users, plan.many_users_posts, plan.follows)
        users = people(place.client)
        with empty_view(place) as empty, site(place) as port:
            viewers = full_homes(port, users, plan.many_users // 2)
            place.settle()
            name = f"home, {plan.many_users:,} viewers at random"
            homes = Page(name, port, [viewer.visit("/") for viewer in viewers], order=AT_RANDOM)
            authors = full_profiles(place.client, port, users, 1)
            others = visits_to_others(viewers, authors)
            profiles = Page(
                f"another user's profile, {plan.many_users:,} viewers at random", port, others, order=AT_RANDOM
            )
            at_random, others_at_random = compare(plan, empty, [homes, profiles])
            arriving = _arriving(plan, Arrivals(place, port, homes.target(plan.folder), users))
            first = _first_visits(plan, place.client, port, users)
            homes.check()
    text = f"""\
Another store: {plan.many_users:,} users, {plan.many_users_posts:,} posts and {plan.follows} follows each. Every home is
loaded and checked before the measurement, so it is built; {len(viewers):,} homes show a full page. About {CHECKED:,} of
these are checked again before and after. `wrk` has {CLIENTS} clients and draws each visit at
random from those with a full page; each run draws others. A subject and its baseline run in turn, {plan.rounds} rounds.
Each of these users also visits one of {len(authors)} other people whose profile has a full page. So few visits of one
person to another come twice within seconds, and nothing that both have in common is cached.

{race_table(empty.name, [at_random, others_at_random])}"""
    figures = {"home at random": at_random.ratio, "home at random, tail": at_random.tail}
    figures["profile at random"] = others_at_random.ratio
    return Report(text, figures) + arriving + first


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
        wait_until(lambda: delivered(self.place.client), "the deliveries", DELIVERY_TIMEOUT)
        self.homes.run(clients, LEAD)  # so that the quiet run that follows does not pay for them
        return result

    def _send(self, visitor: Visitor, *, is_post: bool) -> None:
        me, them = self.rng.sample(self.users, 2)
        path, form = f"{them.profile}follow/", {"csrfmiddlewaretoken": me.csrf}
        if is_post:
            path = "/post/"
            form |= {"token": secrets.token_hex(8), "body": f"A post of {me.name} while homes are read"}
        answer = visitor.post(me.visit(path), **form)
        if answer.status != 302:
            raise WrongAnswer(f"{path}: {answer.status}")


def _arriving(plan: Plan, arrivals: Arrivals) -> Report:
    """Homes at random while others write, compared with the same homes on the quiet site."""
    (arriving,) = race(plan, arrivals.homes, {"home while forms arrive": arrivals})
    text = f"""\
The same homes while random users send the forms of {ARRIVALS} posts and {ARRIVALS} follows a second, at a steady pace
from {LEAD} s earlier on, compared with the quiet site:

{race_table("quiet site", [arriving])}"""
    return Report(text, {"home with arrivals": arriving.ratio})


def _first_visits(plan: Plan, client: redis.Redis, port: int, viewers: Sequence[Viewer]) -> Report:
    """Homes that are built, compared with the same homes before."""
    follows = {viewer: client.zcard(keys.following(viewer.uid)) for viewer in viewers}
    chosen = sorted(viewers, key=lambda viewer: abs(follows[viewer] - plan.follows))[: plan.first_visitors]
    homes = [keys.home(viewer.uid) for viewer in chosen]
    times: dict[str, list[float]] = {"built": [], "first visit": []}
    with contextlib.closing(Visitor(port)) as visitor:
        for name, measured in [*times.items()] * plan.rounds:
            if name == "first visit":
                client.unlink(*homes)
            measured += [visitor.see(viewer.visit("/")).seconds * 1e3 for viewer in chosen]
            if client.exists(*homes) < len(homes):
                raise RuntimeError("a home was not built")
    built, first = (statistics.median(measured) for measured in times.values())
    text = f"""\
The first visit of {len(chosen)} users who follow about {plan.follows} people, one request at a time. In each of
{plan.rounds} rounds every home is loaded once; then `UNLINK posts:<uid>` drops all of these homes; then every home is
loaded once more, which builds it. There is one connection, so its web worker has shown each of these homes before in
both cases. The first visit takes **{first / built:.1f} times** as long (ratio of the medians).

{times_table("home", times)}"""
    return Report(text, {"first visit": first / built})


def times_table(what: str, times: Mapping[str, Sequence[float]]) -> str:
    """Milliseconds by name: median, shortest and longest."""
    shown = {name: (statistics.median(some), min(some), max(some)) for name, some in times.items()}
    rows = [[name, *(f"{value:.2f}" for value in values)] for name, values in shown.items()]
    return table([what, "median, ms", "shortest", "longest"], rows)


# ---- a post with very many followers


def _authors(plan: Plan, place: Place) -> list[Viewer]:
    """Load two authors: one with `plan.followers` followers, and one without. All users have a home."""
    followers = range(FIRST_FOLLOWER, FIRST_FOLLOWER + plan.followers)
    raw.load(place.client, raw.counters(FIRST_FOLLOWER + plan.followers, HOME_LENGTH))
    raw.load(place.client, raw.people([STAR, UNFOLLOWED]))
    raw.load(place.client, raw.posts(raw.demo_texts(HOME_LENGTH), 2))
    raw.load(place.client, raw.one_side(keys.followers(STAR), followers))
    raw.load(place.client, raw.homes([STAR, UNFOLLOWED, *followers], HOME_LENGTH))
    return [raw.viewer(STAR), raw.viewer(UNFOLLOWED)]


def delivered(client: redis.Redis) -> bool:
    return client.zcard(keys.outbox("")) == 0


def _deliver(place: Place, visitor: Visitor, author: Viewer, text: str) -> tuple[float, float]:
    """Load a page and send its form for a new post.

    The seconds that the form takes, and the seconds from sending it until the worker has finished."""
    page = visitor.see(author.visit("/"))
    form = {"csrfmiddlewaretoken": page.field("csrfmiddlewaretoken"), "token": page.field("token"), "body": text}
    began = time.perf_counter()
    answer = visitor.post(author.visit("/post/"), **form)
    if (answer.status, answer.location) != (302, "/"):
        raise WrongAnswer(f"/post/: {answer.status} {answer.location}")
    wait_until(lambda: delivered(place.client), "the delivery", DELIVERY_TIMEOUT)
    return answer.seconds, time.perf_counter() - began


def _check_homes(place: Place, plan: Plan) -> None:
    """Raise WrongAnswer unless the newest post of the star is the newest in the homes of all followers."""
    pid = str(place.client.zrange(keys.updates(STAR), -1, -1)[0])
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
        with site(place) as port:
            for number in range(plan.rounds):
                baselines.append(redis_benchmark(place, plan))
                took = []
                with contextlib.closing(Visitor(port)) as visitor:  # an older connection would be closed
                    for author in authors:
                        _deliver(place, visitor, author, f"warm-up {number}")
                    for name, author in [*zip(forms, authors, strict=True)] * (plan.forms // plan.rounds):
                        form, way = _deliver(place, visitor, author, f"post {number}, with followers: {name}")
                        forms[name].append(form * 1e3)
                        took += [way] if author is authors[0] else []
                ways.append(statistics.median(took))
                _check_homes(place, plan)
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
