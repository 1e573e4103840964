"""A post for very many: how fast it reaches their homes, and what its author waits for."""

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

STAR, NOBODY, FIRST_FOLLOWER = 1, 2, 10
HOME = 20  # ids in each home before
LOOKS_EVERY = 0.002  # seconds
DELIVERED_WITHIN = 300.0


def _people(plan: Plan, place: Place) -> tuple[Viewer, Viewer]:
    """One whom everybody follows and one whom nobody does; all have a home."""
    followers = range(FIRST_FOLLOWER, FIRST_FOLLOWER + plan.followers)
    raw.load(place.client, raw.counters(FIRST_FOLLOWER + plan.followers, HOME))
    raw.load(place.client, raw.people([STAR, NOBODY]))
    raw.load(place.client, raw.posts(HOME, 2))
    raw.load(place.client, raw.followers(STAR, followers))
    raw.load(place.client, raw.homes([STAR, NOBODY, *followers], HOME))
    place.settle()
    return raw.viewer(STAR), raw.viewer(NOBODY)


def write(visitor: Visitor, text: str) -> float:
    """Seconds that a form takes which is sent from the page that was read before. The page is not in there."""
    page = visitor.get("/")
    form = {"csrfmiddlewaretoken": page.field("csrfmiddlewaretoken"), "token": page.field("token"), "body": text}
    answer = visitor.post("/post/", **form)
    if (answer.status, answer.location) != (302, "/"):
        raise WrongAnswer(f"/post/: {answer.status} {answer.location}")
    return answer.seconds


def _delivered(client: redis.Redis) -> bool:
    return client.zcard(keys.outbox("")) == 0


# ---- delivery


@dataclass(frozen=True)
class Delivery:
    """Seconds from sending the form, and from the worker's taking it up, until the worker had finished."""

    whole: float
    pushing: float


def _deliver(place: Place, visitor: Visitor, text: str) -> Delivery:
    wait_for(lambda: _delivered(place.client), "the last delivery", DELIVERED_WITHIN)
    seconds = write(visitor, text)
    began = time.perf_counter() - seconds
    taken = None
    deadline = time.monotonic() + DELIVERED_WITHIN
    while waiting := place.client.zrange(keys.outbox(""), 0, -1):
        if taken is None and place.client.exists(keys.lease(str(waiting[0]))):
            taken = time.perf_counter()
        if time.monotonic() > deadline:
            raise TimeoutError("a delivery does not end")
        time.sleep(LOOKS_EVERY)
    ended = time.perf_counter()
    return Delivery(ended - began, ended - (taken or began))


def _everybody_has(place: Place, plan: Plan, pid: str) -> None:
    pipe = place.client.pipeline(transaction=False)
    for uid in range(FIRST_FOLLOWER, FIRST_FOLLOWER + plan.followers):
        pipe.lindex(keys.home(uid), 0)
    if lacking := sum(head != pid for head in pipe.execute()):
        raise WrongAnswer(f"{lacking} homes lack post {pid}")


def redis_benchmark(place: Place, plan: Plan) -> float:
    """Pushes a second of what the goal is measured by."""
    path = place.client.connection_pool.connection_kwargs["path"]
    command = ["redis-benchmark", "-s", path, "-c", "1", "-P", "100", "-r", "100000", "-n", str(plan.pushes), "--csv"]
    done = subprocess.run(
        [*command, "lpushx", "posts:__rand_int__", "1"], capture_output=True, text=True, check=True, timeout=600
    )
    line = [row for row in csv.reader(done.stdout.splitlines()) if row and row[0].startswith("lpushx")][-1]
    return float(line[1])


def delivery(plan: Plan) -> Report:
    with embedded_store(plan.folder) as place:
        star, _ = _people(plan, place)
        with site(place, plan.folder / "site.log") as port:
            visitor = Visitor(port, star.cookies)
            _deliver(place, visitor, "the first, which is not counted")
            rounds = []
            for number in range(plan.rounds):
                rounds.append((redis_benchmark(place, plan), _deliver(place, visitor, f"post {number} for everybody")))
            _everybody_has(place, plan, str(place.client.get(keys.next_post_id())))
            visitor.close()
            # The keys of redis-benchmark are zero-padded, so nobody's: it pushes to lists that are not there.
            raw.load(place.client, (("RPUSH", f"posts:{number:012}", *range(HOME)) for number in range(100_000)))
            place.settle()
            onto_lists = statistics.median(redis_benchmark(place, plan) for _ in range(plan.rounds))
    compared = statistics.median(rate for rate, _ in rounds)
    whole = statistics.median(plan.followers / one.whole for _, one in rounds)
    pushing = statistics.median(plan.followers / one.pushing for _, one in rounds)
    ratio = statistics.median(plan.followers / one.whole / rate for rate, one in rounds)
    of_pushing = statistics.median(plan.followers / one.pushing / rate for rate, one in rounds)
    rows = [
        ["`redis-benchmark`", f"{compared:,.0f}", "1"],
        ["a post, from its form until its last home", f"{whole:,.0f}", f"**{ratio:.2f}**"],
        ["of that, since the worker took it up", f"{pushing:,.0f}", f"{of_pushing:.2f}"],
        ["`redis-benchmark` onto lists that are there", f"{onto_lists:,.0f}", f"{onto_lists / compared:.2f}"],
    ]
    text = f"""\
One author with {plan.followers:,} followers, each with a home of {HOME} ids or a few more, posts by the site's form.
The real path is measured: the request, the handing over, the worker that looks twenty times a second, the pushes,
until the intent is gone from the outbox. Afterwards every home has the post at its head. In turn with
`redis-benchmark -c 1 -P 100 -r 100000 -n {plan.pushes} lpushx posts:__rand_int__ 1` on the same server and socket,
{plan.rounds} rounds. Its keys are padded with zeros, so that its lists are not there and nothing is written: the last
row is the same with lists of {HOME} ids in these places.

{table(["what", "homes a second", "ratio"], rows)}"""
    return Report(text, {"delivery": ratio, "delivery onto lists": whole / onto_lists})


# ---- posting


def post(plan: Plan) -> Report:
    with embedded_store(plan.folder) as place:
        authors = _people(plan, place)
        took: dict[int, list[float]] = {author.uid: [] for author in authors}
        with site(place, plan.folder / "site.log") as port:
            visitors = {author.uid: Visitor(port, author.cookies) for author in authors}
            for number in range(-2, plan.forms):
                for uid, visitor in visitors.items():
                    seconds = write(visitor, f"text {number} by {uid}")
                    wait_for(lambda: _delivered(place.client), "a delivery", DELIVERED_WITHIN)
                    if number >= 0:
                        took[uid].append(seconds)
            for visitor in visitors.values():
                visitor.close()
    many, none = (sorted(seconds * 1e3 for seconds in took[uid]) for uid in (STAR, NOBODY))
    ratio = statistics.median(many) / statistics.median(none)
    rows = [
        [what, f"{statistics.median(its):.1f}", f"{its[0]:.1f}", f"{its[-1]:.1f}"]
        for what, its in ((f"{plan.followers:,} followers", many), ("none", none))
    ]
    text = f"""\
`POST /post/` by an author with {plan.followers:,} followers who all have a home, and by one with none, in turn,
{plan.forms} each: the form with its tokens from the page that was read just before, on a connection that stays. The
last delivery has always ended before the next form is sent. **{ratio:.2f} times**, of the medians.

{table(["author", "median, ms", "shortest", "longest"], rows)}"""
    return Report(text, {"post": ratio})
