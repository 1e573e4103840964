"""Fixtures of all tests: alice, bob and carol, an empty store, and a recording of everything that is sent to it."""

import contextlib
import gc
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any
from unittest import mock

import hypothesis
import pytest
import redis
from django.conf import settings
from django.core.cache import caches
from django.test import Client

from accounts.media import repository as pictures
from retwis_site.jobs import outbox
from retwis_site.store import embedded, ids, local_cache, snowflake
from retwis_site.store.client import Store, connect
from retwis_site.store.connection.recorder import Command, Recording, keys_of
from retwis_site.store.local_cache import Memory
from tests.settings import static_files
from tests.support.clock import Clock
from tests.support.people import Login, register
from tests.support.pictures import decoded_once
from tests.support.processes.processes import OWN_SETTINGS, end, free_port, run_server, run_site
from tests.support.recording import recording_process
from tests.support.runs import sampling
from tests.support.runs.reporting import pytest_runtest_makereport, pytest_sessionstart, pytest_terminal_summary
from tests.support.runs.seed import SEED
from tests.support.stores import acl_users, topologies
from tests.support.stores.key_layouts import SHARDS, Counted, Split
from tests.support.stores.scattering import scattered
from tests.support.stores.seam import examples
from timeline.account_data import restoring
from timeline.posts import settling
from timeline.posts.settling import leave_to_the_index
from timeline.timelines import checks as timeline_checks

hypothesis.settings.register_profile("tests", deadline=None, max_examples=examples(400))  # a busy machine is slow
hypothesis.settings.load_profile("tests")
static_files.look_once()
gc.set_threshold(50_000, 20, 20)  # also while tests are collected, of which nothing goes
# Django has set up the log. `retwis_site.wsgi` and the command line would do so again, and write to the captured output
# of the test that calls them, which is closed after it.
settings.LOGGING_CONFIG = None

__all__ = ["pytest_runtest_makereport", "pytest_sessionstart", "pytest_terminal_summary"]  # hooks

NEED_A_SERVER = {"real_server", "faults", "cluster", "sentinel", "twemproxy"}
# What pytest-django does around every test for databases, mails and other things that this site has not. Nine thousand
# tests would spend fifteen seconds on it.
NOT_NEEDED = {"_django_db_marker", "_django_setup_unittest", "_dj_autoclear_mailbox", "_django_set_urlconf"}
NOT_NEEDED |= {"_django_isolate_apps", "_template_string_if_invalid_marker", "_django_clear_site_cache"}
NOT_NEEDED |= {"_live_server_helper"}


def _uses_a_store(item: pytest.Item) -> bool:
    """Whether a test has the store of the tests, or a server of its own."""
    return "raw" in getattr(item, "fixturenames", ()) or any(mark.name in NEED_A_SERVER for mark in item.iter_markers())


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around what pytest does for `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark the tests that use no store, and deselect them on several servers. Deselect those too that need another
    topology, or a real server on a run without one, or that a sample leaves out."""
    for item in items:
        item.fixturenames[:] = [name for name in item.fixturenames if name not in NOT_NEEDED]
        if not _uses_a_store(item):
            item.add_marker("storeless")
    topology = settings.REDIS_TOPOLOGY
    several_servers = {"cluster", "sentinel", "twemproxy"}
    excluded_marks = several_servers - {topology}
    if topology != "server":
        excluded_marks |= {"real_server", "one_server", "faults", "storeless"}
    elif not settings.REAL_SERVER:
        excluded_marks |= {"real_server"}

    def is_excluded(item: pytest.Item) -> bool:
        marks = {mark.name for mark in item.iter_markers()}
        return bool(marks & excluded_marks) and not (topology in several_servers and topology in marks)

    _leave_out(config, items, is_excluded)
    yield
    if sampling.CASES:
        chosen = sampling.drawn([item.nodeid for item in items], sampling.CASES, SEED)
        _leave_out(config, items, lambda item: item.nodeid not in chosen)


def _leave_out(config: pytest.Config, items: list[pytest.Item], is_out: Callable[[pytest.Item], bool]) -> None:
    out = {item: is_out(item) for item in items}
    items[:] = [item for item in items if not out[item]]
    config.hook.pytest_deselected(items=[item for item in out if out[item]])


def pytest_collection_finish() -> None:
    """Modules and tests live as long as the process: without this, Python looks through all of them again and again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def real_server() -> Iterator[None]:
    if not settings.REAL_SERVER:
        yield
        return
    with SERVERS[settings.REDIS_TOPOLOGY]():
        yield


@contextlib.contextmanager
def _a_cluster() -> Iterator[None]:
    with topologies.running(settings.SERVERS):
        topologies.join(settings.SERVERS)
        yield


@contextlib.contextmanager
def _a_primary_with_sentinels() -> Iterator[None]:
    [primary] = settings.SERVERS
    with topologies.running([primary]), topologies.sentinels(settings.STORE_DIR, settings.SENTINELS, primary.port):
        yield


@contextlib.contextmanager
def _servers_behind_a_proxy() -> Iterator[None]:
    with (
        topologies.running(settings.SERVERS),
        topologies.proxy(settings.STORE_DIR, settings.PROXY_PORT, settings.SERVERS),
    ):
        yield


SERVERS = {
    "server": lambda: run_server(settings.STORE_DIR),
    "cluster": _a_cluster,
    "sentinel": _a_primary_with_sentinels,
    "twemproxy": _servers_behind_a_proxy,
}


@pytest.fixture(scope="session", autouse=True)
def nobody_waits_for_what_is_paused() -> Iterator[None]:
    """A process looks once whether another one has ended, which a test has paused. In a `Schedule` each look is a
    turn."""
    with mock.patch.multiple(outbox, LOOKS=1, LOOKS_EVERY=0):
        yield


@pytest.fixture(autouse=True)
def sent(request: pytest.FixtureRequest) -> Iterator[Recording]:
    """Everything that any thread sends during a test. Checks for every test that each command names one key, and that
    a test that sends something has a store: it runs on each kind of store then."""
    Memory.clear_all()
    ids.logged.clear()
    with _in_parts(request.node), _with_index_jobs(request.node), recording_process() as recorded:
        yield recorded
    for command in _one_of_each(recorded.commands):
        assert len(keys_of(command)) <= 1, f"{command} names more than one key"
    assert not recorded.commands or _uses_a_store(request.node), 'mark it with pytest.mark.usefixtures("raw")'


def _one_of_each(commands: list[Command]) -> Iterable[Command]:
    """Of commands with the same name and length one. How many keys they name depends on nothing else."""
    return {(command[0], len(command)): command for command in commands}.values()


def _in_parts(item: pytest.Item) -> contextlib.AbstractContextManager[object]:
    """The commands of one round trip have no order among themselves. So they arrive in a random one, in every test."""
    if settings.REDIS_TOPOLOGY != "server" or item.get_closest_marker("in_order"):
        return contextlib.nullcontext()
    return scattered(item.nodeid)


def _with_index_jobs(item: pytest.Item) -> contextlib.AbstractContextManager[object]:
    """Each published post leaves a job to the search: in the tests that are marked `indexed`, and in those with a
    `scene`, where other processes publish. Elsewhere it would stand in each outbox."""
    if "scene" in item.fixturenames or item.get_closest_marker("indexed"):
        return _index_jobs(leave_to_the_index)
    return contextlib.nullcontext()


@contextlib.contextmanager
def _index_jobs(leave: Callable[..., None]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for module in (settling, restoring):
            stack.enter_context(mock.patch.object(module, "leave_to_the_index", leave))
        yield


@pytest.fixture(scope="session", autouse=True)
def usual_jobs() -> Iterator[None]:
    """No job to the search, and a long job goes on to its end, however slow the machine is. A test of turns sets TURN
    itself."""
    with _index_jobs(lambda pipe, pid: None), mock.patch.object(outbox, "TURN", 3600.0):
        yield


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all caches. It stands still until `clock.sleep(seconds)`, so that no entry expires on a slow
    machine."""
    clock = Clock()
    monkeypatch.setattr(local_cache, "time", clock)
    return clock


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` and `cleanup` do not wait for the posts of the last seconds: no process works on them."""
    monkeypatch.setattr("timeline.posts.checks.time.sleep", lambda seconds: None)


@pytest.fixture
def quick_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload is decoded in this process, and the same one once."""
    monkeypatch.setattr(pictures, "decoded", decoded_once)


@pytest.fixture
def snowflakes(settings: Any) -> None:
    """The site makes ids from the time."""
    settings.POST_IDS = "snowflake"


@pytest.fixture
def raw(real_server: None) -> redis.Redis:
    """A redis-py client of the store, for reading and writing keys without the site's code. The store is empty when a
    test begins. On a real server it is the administrator's client, which has more rights than the site.

    A test without this fixture uses no store."""
    return _emptied()


@pytest.fixture(scope="module")
def empty_store(real_server: None) -> None:
    """For a site that starts before the tests of its file: the file before may have left a store that it refuses."""
    _emptied()


def _emptied() -> redis.Redis:
    _connect_again()
    client = _administrator() if settings.REAL_SERVER else connect().transport.client
    client.flushall()
    return client


@cache
def _administrator() -> redis.Redis:
    """The administrator's client. For several servers: a client that reaches all of them."""
    if settings.REDIS_TOPOLOGY == "cluster":
        return topologies.Clustered([server.port for server in settings.SERVERS])
    if settings.REDIS_TOPOLOGY == "twemproxy":
        return topologies.Proxied(settings.PROXY_PORT, [server.client for server in settings.SERVERS])
    if settings.REDIS_TOPOLOGY == "sentinel":
        return settings.SERVERS[0].client
    pool = connect().transport.client.connection_pool
    identity = {"username": acl_users.ADMIN, "password": acl_users.PASSWORDS[acl_users.ADMIN], "socket_timeout": 60}
    own_pool = redis.ConnectionPool(pool.connection_class, **{**pool.connection_kwargs, **identity})
    return redis.Redis(connection_pool=own_pool, single_connection_client=True)  # quicker: it waits for no other client


@pytest.fixture
def rights(raw: redis.Redis) -> Iterator[Callable[..., None]]:
    """`rights("-zadd", "~other")` changes what the site's user may do on a real server, until the test ends."""

    users = acl_users.cluster_lines() if settings.REDIS_TOPOLOGY == "cluster" else acl_users.lines()
    # Behind the proxy all clients are the same user.
    has_users = settings.REAL_SERVER and settings.REDIS_TOPOLOGY != "twemproxy"
    clients = [server.client for server in getattr(settings, "SERVERS", [])] or [raw]

    def change(*rules: str) -> None:
        for client in clients if has_users else []:
            client.execute_command("ACL", "SETUSER", acl_users.SITE, *rules)

    yield change
    change("reset", *acl_users.rules(users))


@pytest.fixture
def moved(raw: redis.Redis, settings: Any) -> Iterator[Callable[[str], None]]:
    """`moved("redis://other")` gives the site a store at another address until the test ends."""

    def move(url: str) -> None:
        settings.REDIS_URL = url
        _disconnect()
        _connect_again()

    yield move
    _disconnect()  # REDIS_URL is still the other address: the next test connects


@pytest.fixture
def site_timeout(moved: Callable[[str], None], settings: Any) -> None:
    """The timeout of the site itself, for a test about a store that hangs."""
    settings.REDIS_TIMEOUT = settings.SITE_REDIS_TIMEOUT
    moved(settings.REDIS_URL)


@pytest.fixture
def own_server(moved: Callable[[str], None]) -> Iterator[Callable[..., Any]]:
    """`with own_server("--appendonly", "yes") as server:` gives the site a server that a test may kill. The next
    `own_server()` of the test has the same data."""
    with tempfile.TemporaryDirectory(prefix="retwis-") as folder:
        moved(acl_users.url(folder))
        yield lambda *options: run_server(folder, *options)


@pytest.fixture(scope="module")
def served_by_one_worker(empty_store: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The site under `manage.py serve`, for all tests of a file."""
    folder = tmp_path_factory.mktemp("served")
    with run_site(
        folder, folder / "log", free_port(), REDIS_URL=settings.REDIS_URL, WEB_WORKERS="1", **OWN_SETTINGS
    ) as site:
        site.wait_until_it_serves()
        yield site


def _disconnect() -> None:
    caches["store"] = caches.create_connection("store")  # has no connection yet
    connect.cache_clear()


def _connect_again() -> None:
    """Without the gate: it would ask each empty store what it is, and a test counts round trips."""
    connect.cache_clear()
    connect().gate = None


@pytest.fixture
def store(raw: redis.Redis) -> Store:
    return connect()


@pytest.fixture(params=["counted", "split"])
def layout(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a test twice: with the default keys, and with the hot keys split."""
    if request.param == "counted":
        return Counted()
    split = Split()
    settings.POST_IDS = "snowflake"
    for name, number in SHARDS.items():
        setattr(settings, name, number)
    monkeypatch.setattr(snowflake, "make", split.make)
    monkeypatch.setattr(timeline_checks, "SMALLEST", 1)
    return split


@pytest.fixture
def alice(store: Store) -> Login:
    return register(store, "Alice")


@pytest.fixture
def bob(store: Store) -> Login:
    return register(store, "bob")


@pytest.fixture
def carol(store: Store) -> Login:
    return register(store, "carol")


@pytest.fixture
def browser(raw: redis.Redis) -> Callable[..., Client]:
    """`browser()` is the browser of a visitor. `browser(alice)` is alice's, who is signed in."""

    def open_browser(login: Login | None = None, csrf: bool = False) -> Client:
        client = Client(enforce_csrf_checks=csrf)
        if login is not None:
            client.cookies[settings.AUTH_COOKIE] = login.secret
        return client

    return open_browser


@pytest.fixture
def member(browser: Callable[..., Client], alice: Login) -> Client:
    """The browser of alice, who is signed in."""
    return browser(alice)


@pytest.fixture
def admin(browser: Callable[..., Client], alice: Login, raw: redis.Redis) -> Client:
    """The browser of alice, who is an admin."""
    raw.hset("staff", "1", "admin")
    raw.hset("user:1", "role", "admin")
    return browser(alice)


@pytest.fixture
def round_trips() -> Callable[[Callable[[], object]], Recording]:
    """Records what a call sends: `len(round_trips(lambda: client.get("/")).round_trips)`."""

    def count(call: Callable[[], object]) -> Recording:
        with Recording() as recorded:
            call()
        return recorded

    return count


@pytest.fixture(scope="session")
def serving():
    """The module `rsgi`, imported without its changes to the process."""
    with mock.patch.object(gc, "freeze"), mock.patch.object(gc, "set_threshold"):
        from retwis_site.server import rsgi

        return rsgi


@pytest.fixture
def answers_with(serving, monkeypatch):
    """`answers_with(response)`: the site returns this response to every request."""

    def use(response):
        def site(environ, start_response):
            start_response("200 OK", list(response.items()))
            return response

        monkeypatch.setattr(serving, "site", site)

    return use


@pytest.fixture
def typed(monkeypatch):
    """`typed("text")`: the standard input, which is not a terminal, has this text."""

    def type_in(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return type_in


@pytest.fixture
def var(settings, tmp_path):
    """The test's own VAR_DIR. Its embedded server ends with the test."""
    settings.VAR_DIR = tmp_path / "var"
    yield settings.VAR_DIR
    pid = embedded.recorded_pid()
    if pid is not None and embedded.is_embedded_server(pid):
        end(pid)


@pytest.fixture
def inspected(settings):
    """The site as INSPECT=1 makes it."""
    settings.INSPECT = True
