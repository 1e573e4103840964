"""A store failure is a 503 with Retry-After. Typed text is kept, and no user is signed out."""

import contextlib
import logging
import re
import signal
import time

import pytest
import redis
from django.core.cache import caches

from retwis_site.exceptions import StoreError, StoreReadOnly, StoreRefused
from retwis_site.store.client import connect
from tests.support.command_output import refuses
from tests.support.http.page_text import page_of
from tests.support.people import register
from tests.support.processes.processes import wait_until
from tests.support.runs.figures import assert_timeout
from tests.support.stored_posts import write_posts
from tests.support.stores import acl_users, topologies
from tests.support.stores.seam import broken_store, failing_store
from tests.support.stores.store_faults import a_server

PAGES = ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/@Alice/following/"]
PAGES += ["/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/", "/sitemap.xml", "/sitemap-people.xml"]
CHANGES = ["/post/", "/logout/", "/@Alice/follow/", "/@Alice/1/delete/", "/login/", "/register/", "/settings/"]
TYPED = {
    "body": "typed & kept",
    "token": "t-1",
    "name": "kept & shown",
    "bio": "kept in two\nlines",
    "username": "kept_name",
    "password": "do not show",
    "password1": "do not show",
    "password2": "do not show",
}


@pytest.fixture(params=["down", "hanging", "read-only", "out of memory", "loading"])
def break_store(request, raw):
    """`break_store()`: from now on the store fails, in each of the ways that redis-py reports."""
    errors = {
        "down": redis.ConnectionError("Error 111 connecting. Connection refused."),
        "hanging": redis.TimeoutError("Timeout reading from socket"),
        "read-only": redis.ReadOnlyError("You can't write against a read only replica."),
        "out of memory": redis.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'."),
        "loading": redis.BusyLoadingError("Redis is loading the dataset in memory"),
    }

    with contextlib.ExitStack() as until_the_end:
        yield lambda: until_the_end.enter_context(broken_store(errors[request.param]))


@pytest.mark.parametrize("url", PAGES)
def test_every_page_is_a_503_and_no_user_is_signed_out(member, raw, break_store, url):
    write_posts(raw, 1, [1])
    break_store()
    response = member.get(url)
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert "Temporarily unavailable" in response.content.decode()
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response
    assert "auth" not in response.cookies


@pytest.mark.parametrize("url", CHANGES)
def test_every_form_keeps_the_typed_text_and_its_token(browser, alice, raw, break_store, url):
    client = browser() if url in {"/login/", "/register/"} else browser(alice)
    break_store()
    response = client.post(url, {**TYPED, "password1": "unusual words here", "password2": "unusual words here"})
    page = response.content.decode()
    assert response.status_code == 503
    has_secrets = url in {"/login/", "/register/"}  # nothing but their own fields
    assert ("typed &amp; kept</textarea>" in page) == (url == "/post/")
    assert ('<input type="hidden" name="token" value="t-1">' in page) == (not has_secrets)
    assert ('type="text" name="username" value="kept_name"' in page) == has_secrets
    assert ('type="text" name="name" value="kept &amp; shown"' in page) == (url == "/settings/")
    assert ("kept in two\nlines</textarea>" in page) == (url == "/settings/")
    assert f'action="{url}"' in page
    assert "Send it again" in page
    assert "do not show" not in page
    assert "unusual words" not in page


def test_a_failure_is_one_line_in_the_log_without_a_traceback(alice, member, break_store, caplog, capfd):
    break_store()
    caplog.clear()
    member.get("/")
    [line] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.exc_info is None
    assert "\n" not in line.getMessage()
    assert "GET /" in line.getMessage()
    assert alice.secret not in line.getMessage()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("url", ["/login/", "/register/", "/recover/"])
def test_forms_for_visitors_are_shown_with_the_words_that_were_read_last(client, raw, break_store, clock, caplog, url):
    raw.hset("site", "name", "Harbour")
    client.get("/timeline/")
    clock.sleep(6)
    break_store()
    caplog.clear()
    page = page_of(client.get(url))
    assert "Harbour" in page
    assert f'action="{url}"' in page
    [line] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "the words of the site that were read last" in line.getMessage()
    assert line.exc_info is None


def test_a_process_that_has_never_read_them_shows_the_defaults(browser, break_store):
    break_store()
    assert "Retwis" in page_of(browser().get("/login/"))


@pytest.mark.parametrize("url", ["/about/", "/rules/", "/privacy/", "/invited/1-9999999999-abc/"])
def test_pages_of_the_words_of_the_site_claim_nothing_while_the_store_fails(browser, raw, break_store, url):
    break_store()
    assert browser().get(url).status_code == 503


def test_nobody_registers_by_words_that_were_read_last(client, raw, clock):
    """The store fails for one round trip: then it is not known whether registration is open."""
    client.get("/register/")
    raw.hset("site", "registration", "closed")
    clock.sleep(6)
    times = iter([redis.ConnectionError("once")])

    def fail_once():
        for error in times:
            raise error

    with failing_store(fail_once):
        answer = client.post(
            "/register/", {**TYPED, "password1": "unusual words here", "password2": "unusual words here"}
        )
    assert answer.status_code == 503
    assert not raw.exists("users")


def test_the_site_works_again_when_the_store_is_back(member):
    with broken_store(redis.ConnectionError()):
        assert member.get("/").status_code == 503
    assert member.get("/").status_code == 200
    assert 'action="/logout/"' in member.get("/").content.decode()


def test_with_a_broken_store_the_process_is_alive_but_not_ready(browser, break_store):
    break_store()
    assert browser().get("/livez").status_code == 200
    response = browser().get("/readyz")
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0


def test_a_working_store_is_ready(browser, raw):
    assert browser().get("/readyz").status_code == 200
    assert abs(int(raw.get("health")) - time.time()) < 10
    assert 0 < raw.ttl("health") <= 60


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (redis.ResponseError("MISCONF Redis is configured to save RDB snapshots"), StoreReadOnly),
        (redis.ResponseError("NOREPLICAS Not enough good replicas to write."), StoreReadOnly),
        (redis.ReadOnlyError("You can't write against a read only replica."), StoreReadOnly),
        (redis.OutOfMemoryError("command not allowed"), StoreReadOnly),
        (redis.ResponseError("WRONGTYPE Operation against a key"), StoreRefused),
        (redis.AuthenticationError("invalid password"), StoreError),
        (redis.MaxConnectionsError("Too many connections"), StoreError),
    ],
)
def test_every_error_of_the_client_becomes_a_store_error(store, error, kind):
    with pytest.raises(StoreError) as caught, store.round_trip([("GET", "a")]):
        raise error
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        ("Connection refused", "The proxy does not reach one of its servers, those in REDIS_NODES: start it."),
        ("NOREPLICAS Not enough good replicas to write.", "the replicas that it waits for"),
    ],
)
def test_the_error_of_a_server_that_lacks_others_says_what_helps(store, error, helps):
    with pytest.raises(StoreRefused, match=helps), store.round_trip([("GET", "a")]):
        raise redis.ResponseError(error)


def test_a_replica_without_its_primary_is_not_taken_for_a_cluster(store):
    """With `replica-serve-stale-data no`."""
    with pytest.raises(StoreRefused) as caught, store.round_trip([("GET", "a")]):
        raise redis.exceptions.MasterDownError("Link with MASTER is down")
    assert "Start the primary of this replica" in str(caught.value)
    assert "cluster" not in str(caught.value)


def test_an_error_in_a_pipeline_does_not_repeat_the_commands(store, raw):
    raw.set("user:1", "no hash")
    pipe = store.pipeline()
    pipe.hset("user:1", {"auth": "a secret"})
    with pytest.raises(StoreError) as caught:
        pipe.execute()
    assert "a secret" not in str(caught.value)


def test_the_cache_api_cannot_flush_the_store(raw):
    raw.set("a", 1)
    with pytest.raises(NotImplementedError, match="FLUSHDB"):
        caches["store"].clear()
    assert raw.get("a") == "1"


@pytest.mark.one_server
def test_redis_py_sends_no_command_again(store):
    retry = store.transport.client.connection_pool.connection_kwargs["retry"]
    assert retry.get_retries() == 0


@pytest.mark.real_server
def test_a_killed_server_is_a_503_until_it_is_started_again(browser, own_server):
    client = browser()
    # Each second is not enough: while the disk is slow, Redis acknowledges what it writes up to two seconds later.
    with own_server("--appendonly", "yes", "--appendfsync", "always") as server:
        form = {"username": "Dora", "password1": "correct horse battery", "password2": "correct horse battery"}
        assert client.post("/register/", form).status_code == 302
        client.post("/post/", {"body": "acknowledged", "token": "t"})
        server.kill()
        server.wait()
        started = time.monotonic()
        response = client.post("/post/", {"body": "typed meanwhile", "token": "u"})
        assert_timeout("a 503 without a server", time.monotonic() - started, 3)
        assert response.status_code == 503
        assert "typed meanwhile" in response.content.decode()
    with own_server("--appendonly", "yes"):
        page = client.get("/").content.decode()
        assert "acknowledged" in page
        assert 'action="/logout/"' in page
        assert client.post("/post/", {"body": "typed meanwhile", "token": "u"}).status_code == 302


@pytest.mark.real_server
def test_a_server_that_hangs_is_a_503_within_three_seconds(browser, site_timeout, own_server):
    # An address with a query: no page of visitors is kept.
    with own_server() as server:
        assert browser().get("/timeline/?of=all").status_code == 200
        server.send_signal(signal.SIGSTOP)
        started = time.monotonic()
        assert browser().get("/timeline/?of=all").status_code == 503
        assert_timeout("a 503 of a server that hangs", time.monotonic() - started, 3)
        assert browser().get("/livez").status_code == 200
        server.send_signal(signal.SIGCONT)
        wait_until(lambda: browser().get("/timeline/?of=all").status_code == 200, "the site to go on")


@pytest.mark.real_server
def test_where_the_address_leads_to_another_primary_by_now_the_site_uses_that_one(browser, moved, tmp_path):
    """As after the failover of a hosted Redis: the old primary is a replica, and keeps its connections."""
    with a_server() as old, a_server() as new:
        old.start()
        new.start()
        new.admin.replicaof("127.0.0.1", old.port)
        wait_until(lambda: new.says("replication", master_link_status="up"), "the replica")
        address = tmp_path / "redis.sock"
        address.symlink_to(f"{old.folder}/redis.sock")
        moved(acl_users.url(tmp_path))
        client = browser(register(connect(), "alice"))
        pool = connect().transport.client.connection_pool
        for connection in [pool.get_connection() for _ in range(3)]:  # as of other threads
            pool.release(connection)
        assert client.post("/post/", {"body": "Hello", "token": "t"}).status_code == 302
        topologies.wait_for_replica(old.admin, new.admin)
        new.admin.replicaof("no", "one")
        old.admin.replicaof("127.0.0.1", new.port)
        address.unlink()
        address.symlink_to(f"{new.folder}/redis.sock")
        assert client.post("/post/", {"body": "Again", "token": "u"}).status_code == 503
        assert client.post("/post/", {"body": "Again", "token": "u"}).status_code == 302
        assert new.admin.zcard("updates:1") == 2


@pytest.mark.real_server
def test_pages_are_still_shown_when_the_store_is_out_of_memory(browser, member, bob, raw):
    member.post("/@bob/follow/")
    browser(bob).post("/post/", {"body": "readable", "token": "t"})
    limit = raw.config_get("maxmemory")["maxmemory"]
    try:
        raw.config_set("maxmemory", "1")
        for url in ("/", "/timeline/", "/@bob/", "/@bob/1/"):
            assert "readable" in member.get(url).content.decode()
        page = page_of(member.post("/post/", {"body": "too much", "token": "u"}), 503)
        assert re.search(r">\s*too much</textarea>", page)
    finally:
        raw.config_set("maxmemory", limit)
    assert member.post("/post/", {"body": "fits again", "token": "u"}).status_code == 302


@pytest.mark.parametrize("address", ["/reset/{}/", "/invited/{}/"])
def test_the_log_has_no_secret_of_an_address(browser, raw, caplog, address):
    """With the secret, a reader of the log could open the account or use the invitation."""
    secret = "1-1900000000-0123456789abcdef"

    with broken_store(redis.ConnectionError("Connection refused")):
        assert browser().get(address.format(secret)).status_code == 503
    [line] = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
    assert line.startswith(f"GET {address.format('...')}: ")
    assert secret not in caplog.text


def test_after_a_timeout_other_requests_do_not_wait_for_the_store(browser, raw, settings):
    settings.REDIS_TIMEOUT = 60  # longer than this test takes on any machine
    timeouts = []

    def hang():
        timeouts.append(True)
        raise redis.TimeoutError("Timeout reading from socket")

    with failing_store(hang):
        assert [browser().get("/timeline/").status_code for _ in range(16)] == [503] * 16
    assert len(timeouts) == 1
    connect.cache_clear()  # as a second later, when commands are sent again
    assert browser().get("/timeline/").status_code == 200


def test_a_command_says_that_a_server_which_loads_its_data_needs_time(raw):
    with broken_store(redis.BusyLoadingError("Redis is loading the dataset in memory")):
        refuses("Wait until the server has loaded its data, and try again", "doctor", verbosity=0)
