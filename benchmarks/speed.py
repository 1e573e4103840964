"""`python -m benchmarks.speed`: how fast are pages, a first visit, posting and delivery?"""

import contextlib
import csv
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import redis

import benchmarks.configured  # noqa: F401
from benchmarks import raw, run
from benchmarks.pages import HEADS, Homes, Page, build_homes, load_home, pages_of, require_size, row
from benchmarks.plan import Plan, Report
from benchmarks.stand import Place, embedded_store, empty_view, site, wait_for
from benchmarks.table import table, times_table
from benchmarks.visitor import Viewer, Visitor, WrongAnswer, people
from benchmarks.wrk import Target, race, random_target, target, warm_up
from retwis_site.store import keys

STAR, UNFOLLOWED, FIRST_FOLLOWER = 1, 2, 10  # uids
HOME_LENGTH = 20  # ids in each home before the first post
POLL_INTERVAL = 0.002  # seconds
DELIVERY_TIMEOUT = 300.0  # seconds


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


def _measure(plan: Plan, pages: list[Page], port: int, base: Target, figures: dict[str, float]) -> str:
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
            at_random = _at_random(plan, _homes(plan, port, users), base, built, figures)
            first = _first_visits(plan, place.client, port, users, figures)
            built.check(port, plan.viewers)
    text = f"""\
Another store: {plan.many_users:,} users, {plan.many_users_posts:,} posts and {plan.follows} follows each. Every home is
loaded and checked before the measurement, so it is built; {built.full:,} homes show a full page. {plan.viewers} of them
are checked again afterwards. `wrk` has {plan.clients[0]} clients and draws each visit at random from the homes of all
users; each run draws others. A subject and its baseline run in turn, {plan.rounds} rounds.

{at_random}
{first}"""
    return Report(text, figures)


def _homes(plan: Plan, port: int, users: Sequence[Viewer]) -> Target:
    """The homes of all users, at random."""
    return random_target(port, [("/", user.header) for user in users], plan.folder / f"homes-{port}.lua")


def _at_random(plan: Plan, homes: Target, base: Target, built: Homes, figures: dict[str, float]) -> str:
    warm_up([base, homes])
    result = race(base, {"home": homes}, plan.clients[0], plan.rounds, plan.seconds)["home"]
    require_size("home at random", result, built.size)
    figures["home at random"] = result.ratio
    figures["home at random, tail"] = result.tail
    name = f"home, {plan.many_users:,} viewers at random"
    return f"Runs of {plan.seconds} s:\n\n" + table(HEADS, [row(name, plan.clients[0], result)])


def _first_visits(
    plan: Plan, client: redis.Redis, port: int, viewers: Sequence[Viewer], figures: dict[str, float]
) -> str:
    """A text on homes that are built, compared with the same homes before. Fills `figures`."""
    follows = dict(zip(viewers, _ask(client, viewers, lambda pipe, uid: pipe.zcard(keys.following(uid))), strict=True))
    chosen = sorted(viewers, key=lambda viewer: abs(follows[viewer] - plan.follows))[: plan.first_visitors]
    few, most = min(follows[viewer] for viewer in chosen), max(follows[viewer] for viewer in chosen)
    times: dict[str, list[float]] = {"built": [], "first visit": []}
    with contextlib.closing(Visitor(port)) as visitor:
        before = [load_home(visitor, viewer)[0].count("<article") for viewer in chosen]
        for _ in range(plan.rounds):
            for name, measured in times.items():
                if name == "first visit":
                    _ask(client, chosen, lambda pipe, uid: pipe.unlink(keys.home(uid)))
                measured += [load_home(visitor, viewer)[1] * 1e3 for viewer in chosen]
            if not all(_ask(client, chosen, lambda pipe, uid: pipe.llen(keys.home(uid)))):
                raise RuntimeError("a home was not built")
        if before != [load_home(visitor, viewer)[0].count("<article") for viewer in chosen]:
            raise WrongAnswer("a home that was built again has another number of posts")
    built, first = (statistics.median(measured) for measured in times.values())
    figures["first visit"] = first / built
    who = f"{few}" if few == most else f"{few} to {most}"
    return f"""\
The first visit of {len(chosen)} users who follow {who} people, one request at a time. In each of
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


def _deliver(place: Place, visitor: Visitor, text: str) -> float:
    """Seconds from sending the form until the worker has finished."""
    wait_for(lambda: delivered(place.client), "the last delivery", DELIVERY_TIMEOUT)
    seconds = write(visitor, text)
    began = time.perf_counter() - seconds
    wait_for(lambda: delivered(place.client), "the delivery", DELIVERY_TIMEOUT, POLL_INTERVAL)
    return time.perf_counter() - began


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
    total = statistics.median(plan.followers / seconds for _, seconds in rounds)
    ratio = statistics.median(plan.followers / seconds / rate for rate, seconds in rounds)
    rows = [
        ["`redis-benchmark`", f"{baseline:,.0f}", "1"],
        ["a post, from its form to its last home", f"{total:,.0f}", f"**{ratio:.2f}**"],
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
    many, none = ([seconds * 1e3 for seconds in times[uid]] for uid in (STAR, UNFOLLOWED))
    ratio = statistics.median(many) / statistics.median(none)
    shown = {f"{plan.followers:,} followers": many, "none": none}
    text = f"""\
`POST /post/` by an author with {plan.followers:,} followers who all have a home, and by an author without followers.
They post in turn, {plan.forms} times each. Each form has the tokens of a page that was loaded just before, on the same
connection. The next form is sent only after the last delivery has ended. The ratio of the medians is
**{ratio:.2f} times**.

{times_table("author", shown)}"""
    return Report(text, {"post": ratio})


PARTS = {"pages": pages, "visits": visits, "delivery": delivery, "post": post}

if __name__ == "__main__":
    sys.exit(run.main("speed", PARTS))
