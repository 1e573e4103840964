"""The memory that a home takes, and that a user without a home takes."""

from collections.abc import Iterator

from django.contrib.auth.hashers import make_password

from accounts.users.entities import User
from accounts.users.names import entries
from benchmarks.growth.measure import Command, table
from benchmarks.growth.sizes import NOW, SMALL, Kind, secret, version, weigh
from benchmarks.plan import Plan, Report
from retwis_site.store import keys
from tests.support.processes.ports import free_ports
from tests.support.stores.topologies import Server, running

IDS, EDGES = 1000, 40


def report(plan: Plan) -> Report:
    password = make_password("a password")

    def homes(base: int) -> Iterator[Command]:
        for uid in range(base, base + plan.homes):
            yield ("RPUSH", keys.home(uid), *range(base + uid % 1000 + IDS * 900, base + uid % 1000, -900))

    def users(base: int) -> Iterator[Command]:
        for uid in range(base, base + plan.accounts):
            name = f"user_{uid % SMALL}"
            yield ("HSET", keys.user(uid), "username", name, "password", password, "auth", secret(uid))
            yield ("HSET", keys.users(), name, uid)
            yield ("HSET", keys.auths(), secret(uid), uid)
            yield ("ZADD", keys.users_by_time(), NOW + uid, name)
            for entry in entries(User(uid, name)):
                yield ("ZADD", keys.users_by_name(), 0, entry)
            yield ("ZADD", keys.users_by_followers(), EDGES, uid)
            for step in range(1, EDGES + 1):
                yield ("ZADD", keys.following(uid), NOW + step, uid + step * 7)
                yield ("ZADD", keys.followers(uid), NOW + step, uid + step * 7)

    (port,) = free_ports(1)
    server = Server(plan.folder, port)
    with running([server]):
        home, _ = weigh(server, Kind("home", plan.homes, homes), SMALL)
        user, _ = weigh(server, Kind("user", plan.accounts, users), SMALL)
        name = version(server)
    rows = [
        (f"a home of {IDS:,} ids of 7 digits, as INCR gives them", round(home)),
        (f"a user with {EDGES} follows, {EDGES} followers and no home", round(user)),
    ]
    text = f"""\
Growth of `used_memory` of a `redis-server` ({name}), in bytes for each of {plan.homes:,} homes and each of
{plan.accounts:,} users. A user has a hash with an Argon2 password, both sides of each edge, and entries in `users`,
`auths`, `users_by_time`, `users_by_name` and `users_by_followers`.

{table(["thing", "bytes"], rows)}"""
    return Report(text, {"home bytes": home, "user bytes": user})
