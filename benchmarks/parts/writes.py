"""A post with very many followers: how fast it reaches their homes, and how long its author waits."""

import csv
import statistics
import subprocess
import time
from dataclasses import dataclass

import redis

from benchmarks.growth.paper import table
from benchmarks.parts import raw
from benchmarks.plan import Plan, Report
from benchmarks.stand import Place, embedded_store, site, wait_for
from benchmarks.visitor import Viewer, Visitor, WrongAnswer
from retwis_site.store import keys

STAR, UNFOLLOWED, FIRST_FOLLOWER = 1, 2, 10  # uids
HOME_LENGTH = 20  # ids in each home before the first post
POLL_INTERVAL = 0.002  # seconds
DELIVERY_TIMEOUT = 300.0  # seconds


def _authors(plan: Plan, place: Place) -> tuple[Viewer, Viewer]:
    """Load two authors: one with `plan.followers` followers, and one without. All users have a home."""
    followers = range(FIRST_FOLLOWER, FIRST_FOLLOWER + plan.followers)
    raw.load(place.client, raw.counters(FIRST_FOLLOWER + plan.followers, HOME_LENGTH))
    raw.load(place.client, raw.people([STAR, UNFOLLOWED]))
    raw.load(place.client, raw.posts(raw.demo_texts(HOME_LENGTH), 2))
    raw.load(place.client, raw.followers(STAR, followers))
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


@dataclass(frozen=True)
class Delivery:
    """Seconds until the worker has finished: from sending the form, and from the worker's claim of the job."""

    total: float
    working: float


def _deliver(place: Place, visitor: Visitor, text: str) -> Delivery:
    wait_for(lambda: delivered(place.client), "the last delivery", DELIVERY_TIMEOUT)
    seconds = write(visitor, text)
    began = time.perf_counter() - seconds
    claimed = None
    deadline = time.monotonic() + DELIVERY_TIMEOUT
    while jobs := place.client.zrange(keys.outbox(""), 0, -1):
        if claimed is None and place.client.exists(keys.lease(str(jobs[0]))):
            claimed = time.perf_counter()
        if time.monotonic() > deadline:
            raise TimeoutError("the delivery does not end")
        time.sleep(POLL_INTERVAL)
    ended = time.perf_counter()
    return Delivery(ended - began, ended - (claimed or began))


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
    with embedded_store(plan.folder) as place:
        star, _ = _authors(plan, place)
        with site(place, plan.folder / "site.log") as port:
            visitor = Visitor(port, star.cookies)
            _deliver(place, visitor, "a warm-up")
            rounds = []
            for number in range(plan.rounds):
                rounds.append((redis_benchmark(place, plan), _deliver(place, visitor, f"post {number} for everyone")))
            _check_homes(place, plan, str(place.client.get(keys.next_post_id())))
            visitor.close()
            # redis-benchmark pads its keys with zeros. No home has such a key, so its lists were missing so far.
            raw.load(place.client, (("RPUSH", f"posts:{number:012}", *range(HOME_LENGTH)) for number in range(100_000)))
            place.settle()
            onto_lists = statistics.median(redis_benchmark(place, plan) for _ in range(plan.rounds))
    baseline = statistics.median(rate for rate, _ in rounds)
    total = statistics.median(plan.followers / run.total for _, run in rounds)
    working = statistics.median(plan.followers / run.working for _, run in rounds)
    ratio = statistics.median(plan.followers / run.total / rate for rate, run in rounds)
    working_ratio = statistics.median(plan.followers / run.working / rate for rate, run in rounds)
    rows = [
        ["`redis-benchmark`", f"{baseline:,.0f}", "1"],
        ["a post, from its form to its last home", f"{total:,.0f}", f"**{ratio:.2f}**"],
        ["of that, from the worker's claim of the job", f"{working:,.0f}", f"{working_ratio:.2f}"],
        ["`redis-benchmark` with existing lists", f"{onto_lists:,.0f}", f"{onto_lists / baseline:.2f}"],
    ]
    text = f"""\
An author with {plan.followers:,} followers sends a post by the form of the site. Each follower has a home of
{HOME_LENGTH} ids or a few more. The whole path is measured: the request, the job in the outbox, the worker that polls
twenty times per second, and the pushes, until the job is gone from the outbox. Then every home has the post at its
head. The baseline runs in turn with it, on the same server and socket, {plan.rounds} rounds:
`redis-benchmark -c 1 -P 100 -r 100000 -n {plan.pushes} lpushx posts:__rand_int__ 1`. It pads its keys with zeros, so
its lists are missing and it writes nothing. The last row is the same command with lists of {HOME_LENGTH} ids under
these keys.

{table(["run", "homes per second", "ratio"], rows)}"""
    return Report(text, {"delivery": ratio, "delivery onto lists": total / onto_lists})


# ---- posting


def post(plan: Plan) -> Report:
    with embedded_store(plan.folder) as place:
        authors = _authors(plan, place)
        times: dict[int, list[float]] = {author.uid: [] for author in authors}
        with site(place, plan.folder / "site.log") as port:
            visitors = {author.uid: Visitor(port, author.cookies) for author in authors}
            for number in range(-2, plan.forms):
                for uid, visitor in visitors.items():
                    seconds = write(visitor, f"text {number} by {uid}")
                    wait_for(lambda: delivered(place.client), "a delivery", DELIVERY_TIMEOUT)
                    if number >= 0:
                        times[uid].append(seconds)
            for visitor in visitors.values():
                visitor.close()
    many, none = (sorted(seconds * 1e3 for seconds in times[uid]) for uid in (STAR, UNFOLLOWED))
    ratio = statistics.median(many) / statistics.median(none)
    rows = [
        [author, f"{statistics.median(measured):.1f}", f"{measured[0]:.1f}", f"{measured[-1]:.1f}"]
        for author, measured in ((f"{plan.followers:,} followers", many), ("none", none))
    ]
    text = f"""\
`POST /post/` by an author with {plan.followers:,} followers who all have a home, and by an author without followers.
They post in turn, {plan.forms} times each. Each form has the tokens of a page that was loaded just before, on the same
connection. The next form is sent only after the last delivery has ended. The ratio of the medians is
**{ratio:.2f} times**.

{table(["author", "median, ms", "shortest", "longest"], rows)}"""
    return Report(text, {"post": ratio})
