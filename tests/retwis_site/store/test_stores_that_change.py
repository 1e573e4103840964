"""A store that is replaced under a running site: a process looks again before it writes, and forgets what it knew."""

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import redis
from django.core.management import call_command

from retwis_site.exceptions import LeaseEnded, StoreError, StoreReadOnly, StoreRefused
from retwis_site.jobs.lease import LeasedStore
from retwis_site.store import schema
from retwis_site.store.client import connect, without_gate
from retwis_site.store.connection import transport
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import Gate, NewerSchema, NotFilled, StoreState
from tests.support.command_output import doctor
from tests.support.http.page_text import page_of
from tests.support.maintenance.official_database import make_official_database
from tests.support.people import PASSWORD, register
from tests.support.stored_keys import everything
from tests.support.stores import acl_users
from tests.support.stores.seam import broken_store

# An address with a query: no page of visitors is kept.
PAGES = ["/timeline/?of=all", "/@bob/", "/", "/people/", "/@bob/1/", "/timeline/rss/", "/sitemap.xml"]


@pytest.fixture
def gated(raw):
    """The site's own connection, with its gate open: dora has registered."""
    connect.cache_clear()
    register(connect(), "dora")
    connect().get("health")
    assert connect().gate.is_open
    return connect()


@pytest.fixture
def restart(raw, settings, monkeypatch):
    """`restart()` ends the connections of the site, as a server that starts again does."""
    monkeypatch.setattr(transport, "FRESH", 0)  # a server takes longer to start again

    def run():
        if settings.REAL_SERVER and settings.REDIS_TOPOLOGY != "twemproxy":
            for server in [one.client for one in getattr(settings, "SERVERS", [])] or [raw]:
                server.client_kill_filter(_type="normal", skipme=True)
        else:  # fakeredis ends no connection, and neither does a proxy
            connect().transport.client.connection_pool.disconnect()

    yield run
    with suppress(StoreError):  # a connection that has ended is found now, and not by the next test
        connect().get("nothing")


@pytest.fixture
def replace(raw, restart):
    """`replace(fill)`: when the server has started again, it holds what `fill` writes."""

    def run(fill):
        raw.flushall()
        fill(raw)
        restart()

    return run


def as_official(raw):
    make_official_database(raw)


# ---- a connection that has broken


@pytest.mark.parametrize("page", PAGES)
def test_the_first_page_after_a_restart_reads_an_official_database_and_changes_nothing(
    gated, replace, raw, client, page
):
    assert client.get("/timeline/?of=all").status_code == 200
    replace(as_official)
    before = everything(raw)
    for _ in range(2):
        assert client.get(page).status_code == 200
        assert everything(raw) == before
    assert client.get("/timeline/?of=all").content.decode().count('id="post-') == 20
    assert gated.is_foreign


def test_the_first_command_after_a_restart_may_be_a_write_and_is_refused(gated, replace, raw, browser):
    replace(as_official)
    before = everything(raw)
    form = {"username": "Erin", "password1": PASSWORD, "password2": PASSWORD}
    assert browser().post("/register/", form).status_code == 503
    assert everything(raw) == before


@pytest.mark.parametrize(
    ("fill", "refusal"),
    [
        (as_official, StoreReadOnly),
        (lambda raw: raw.set("schema", schema.ADOPTING), StoreReadOnly),
        (lambda raw: raw.set("schema", str(schema.VERSION + 1)), NewerSchema),
        (lambda raw: raw.set("next_user_id", schema.UNFINISHED), NotFilled),
    ],
    ids=["official", "adopting", "newer", "unfinished"],
)
@pytest.mark.parametrize("way", ["command", "pipeline", "stream", "for a job"])
def test_nothing_is_written_before_the_gate_has_looked_again(gated, replace, raw, fill, refusal, way):
    leased = LeasedStore(gated, 60)
    replace(fill)
    before = everything(raw)

    def pipe():
        queued = gated.pipeline()
        queued.lpushx_each([f"posts:{uid}" for uid in range(1, 9)], "31")
        return queued

    ways = {
        "command": lambda: gated.hset("user:1", {"bio": "x"}),
        "pipeline": lambda: pipe().execute(),
        "stream": lambda: next(gated.stream([pipe()])),
        "for a job": lambda: leased.zadd("likes:1", {"1": 1}),
    }
    for _ in range(2):
        with pytest.raises(refusal):
            ways[way]()
    with pytest.raises(refusal):
        leased.set("x", "1")
    assert everything(raw) == before


def test_a_restart_with_the_same_data_costs_one_look_and_no_page(gated, restart, browser, round_trips):
    client = browser()
    client.get("/@dora/")
    restart()
    for _ in range(2):  # the uid of the name is looked up again
        assert client.get("/@dora/").status_code == 200
    assert gated.gate.is_open
    assert len(round_trips(lambda: client.get("/@dora/")).round_trips) == 1


def test_nothing_that_was_cached_of_the_former_store_is_shown(gated, replace, browser):
    """Names, posts and dates are kept by uid and pid, for up to an hour."""
    client = browser()
    assert "dora" in client.get("/@dora/").content.decode()

    def as_other_site(raw):
        connect.cache_clear()
        other = without_gate()
        register(other, "Bela")
        schema.mark(other)

    replace(as_other_site)
    page = client.get("/people/").content.decode()
    assert "Bela" in page
    assert "dora" not in page
    assert client.get("/@dora/").status_code == 404


@pytest.fixture
def named_site(gated, raw, client):
    """A browser that has seen the site under its name."""
    raw.hset("site", "name", "Frogtown")
    Memory.clear_all()
    assert "Frogtown" in client.get("/timeline/?of=all").content.decode()
    return client


@pytest.mark.parametrize("page", ["/timeline/rss/", "/timeline/atom/", "/@dora/rss/", "/login/"])
def test_the_first_page_of_a_connection_has_the_name_of_the_site(named_site, restart, page):
    restart()
    assert "Frogtown" in named_site.get(page).content.decode()


def test_while_the_store_loads_its_data_pages_have_the_name_of_the_site(named_site, restart, monkeypatch):
    loading = redis.ResponseError("LOADING Redis is loading the dataset in memory")
    restart()
    monkeypatch.setattr(connect().gate._store.transport, "exchange", lambda queued: [loading for _ in queued])
    for _ in range(2):
        assert "Frogtown" in page_of(named_site.get("/timeline/?of=all"), 503)


def test_the_name_of_a_site_does_not_outlive_its_store(named_site, replace):
    def as_other_site(raw):
        raw.hset("site", "name", "Toadville")
        raw.set("schema", str(schema.VERSION))

    replace(as_other_site)
    named_site.get("/people/")
    for page in ["/timeline/rss/", "/login/", "/nothing/"]:
        assert "Frogtown" not in named_site.get(page).content.decode()


@pytest.mark.real_server
def test_a_dump_of_the_php_put_under_a_running_site_is_only_read(own_server, browser, settings):
    folder = Path(urlsplit(settings.REDIS_URL).path).parent
    dump, aside = folder / "dump.rdb", folder / "php.rdb"
    client = browser()
    with own_server(), redis.Redis.from_url(acl_users.url(str(folder), acl_users.ADMIN), decode_responses=True) as php:
        make_official_database(php)
        php.save()
        dump.rename(aside)
    with own_server():
        connect().gate = Gate(without_gate())
        form = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
        assert client.post("/register/", form).status_code == 302
        assert client.get("/timeline/?of=all").status_code == 200
    aside.rename(dump)
    with own_server():
        assert client.post("/post/", {"body": "x", "token": "t" * 32}).status_code in {302, 503}
        for _ in range(2):
            assert client.get("/timeline/?of=all").content.decode().count('id="post-') == 20
        assert client.post("/register/", form | {"username": "Erin"}).status_code == 503
        assert without_gate().lrange("timeline", 0, -1) == [str(pid) for pid in range(30, 0, -1)]
        assert without_gate().get("next_user_id") == "4"


# ---- a server that answers, and is another one by now


GONE = redis.ResponseError("ERR Connection refused")  # of a proxy whose server is gone


@pytest.fixture
def refuse(gated, monkeypatch):
    """`refuse(error)`: the store refuses a command, and then answers again. `ahead`: one of a stream."""

    def run(error, ahead=False):
        conversation = SimpleNamespace(write=len, read=lambda queued: [error], give_back=lambda: None)
        pipe = gated.pipeline()
        pipe.hset("user:1", {"bio": "x"})
        with monkeypatch.context() as patched:
            patched.setattr(gated.transport, "exchange", lambda queued: [error])
            patched.setattr(gated.transport, "conversation", lambda: conversation)
            with pytest.raises(StoreRefused):
                list(gated.stream([pipe])) if ahead else pipe.execute()

    return run


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        redis.ReadOnlyError("You can't write against a read only replica."),
        GONE,
        redis.ResponseError("MASTERDOWN Link with MASTER is down"),
    ],
)
def test_a_refusal_closes_the_gate_until_the_next_look(gated, raw, refuse, error, ahead):
    refuse(error, ahead)
    assert not gated.gate.is_open
    raw.set("schema", schema.ADOPTING)
    with pytest.raises(StoreReadOnly):
        gated.hset("user:1", {"bio": "x"})


def test_a_server_that_comes_back_behind_a_proxy_may_hold_other_data(refuse, raw, browser):
    """The connection to the proxy stays."""
    client = browser()
    assert client.get("/api/v1/accounts/1").json()["created_at"] > "2026"
    refuse(GONE)
    raw.zadd("users_by_time", {"dora": 10**9})
    assert client.get("/api/v1/accounts/1").json()["created_at"].startswith("2001-09-09")


def test_a_failed_look_leaves_the_gate_closed(gated, raw):
    gated.gate.is_open = False
    with broken_store(redis.ConnectionError()), pytest.raises(Exception, match="does not answer"):
        gated.get("health")
    assert not gated.gate.is_open
    gated.get("health")
    assert gated.gate.is_open


@pytest.mark.parametrize("key", ["next_user_id", "schema"])
def test_the_look_takes_a_key_of_the_wrong_type_for_none_and_doctor_mends_it(gated, raw, browser, capsys, key):
    raw.delete(key)
    raw.sadd(key, "x")
    gated.gate.close()
    assert browser().get("/@dora/").status_code == 200
    gated.gate.close()
    assert doctor(capsys, "--fix")[0] == 0
    assert raw.type(f"damaged:{key}") == "set"
    assert doctor(capsys)[:2] == (0, {})


@pytest.mark.real_server
def test_a_key_that_may_not_be_asked_keeps_the_gate_closed(gated, rights):
    gated.gate.close()
    rights("-get")
    with pytest.raises(StoreRefused, match="GET"):
        gated.hget("user:1", "username")


def test_a_lease_counts_also_where_the_gate_is_open(gated):
    with pytest.raises(LeaseEnded):
        LeasedStore(gated, -1).set("x", "1")


# ---- an empty store


def emptied(raw):
    raw.flushall()


@pytest.mark.parametrize("way", ["page", "command"])
def test_the_first_user_of_an_emptied_store_marks_it(gated, layout, raw, browser, typed, way):
    emptied(raw)
    if way == "page":
        form = {"username": "Erin", "password1": PASSWORD, "password2": PASSWORD}
        assert browser().post("/register/", form).status_code == 302
    else:
        typed(f"{PASSWORD}\n")
        call_command("createuser", "Erin", verbosity=0)
    assert raw.get("schema") == str(schema.VERSION)
    assert schema.examine(gated) is StoreState.OURS


def test_the_mark_is_there_before_there_is_a_user(raw, store, sent):
    register(store, "Erin")
    sets = [number for number, one in enumerate(sent.round_trips) if ("SET", "schema", "1") in one.commands]
    commits = [number for number, one in enumerate(sent.round_trips) if any("users" in c for c in one.commands[:1])]
    assert len(sets) == 1
    assert sets[0] < max(commits)


@pytest.mark.parametrize("version", [None, "0"])
def test_a_user_of_an_older_site_marks_nothing(raw, store, version):
    register(store, "dora")
    raw.unlink("schema")
    if version:
        raw.set("schema", version)
    register(store, "Erin")
    assert raw.get("schema") == version
    assert schema.examine(store) is StoreState.OLDER


def test_a_worker_and_a_health_check_leave_an_empty_store_without_a_mark(raw, store, browser):
    """So `import`, `copy` and `restore` may still fill it."""
    Memory.clear_all()
    assert browser().get("/readyz").status_code == 200
    call_command("deliver", once=True, verbosity=0)
    assert raw.get("schema") is None
    assert schema.examine(store) is StoreState.EMPTY
