"""The site answers while its store fails: every kind of fault of a real Redis, below a real `manage.py serve`."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer
from tests.support.http.http_browser import Browser
from tests.support.people import LONG_AGO, PASSWORD, register
from tests.support.processes.processes import OWN_SETTINGS, alive, free_port, run_site, wait_until
from tests.support.runs.figures import assert_timeout
from tests.support.stored_keys import publish
from tests.support.stores.store_faults import FAULTS, READING_WORKS, a_server, down, hanging

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

TIME_LIMIT = 3.0  # seconds
SIGNED_IN = 'action="/logout/"'
WRITTEN = "Written before"
TYPED = 'Typed <meanwhile> & "kept", 여러분'
TYPED_AS_HTML = "Typed &lt;meanwhile&gt; &amp; &quot;kept&quot;, 여러분"

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server():
    with a_server() as server:
        server.start()
        yield server


@pytest.fixture(scope="module")
def site(server, tmp_path_factory):
    """One site for all tests: it must survive every fault."""
    folder = tmp_path_factory.mktemp("site")
    with run_site(
        folder / "var", folder / "log", free_port(), REDIS_URL=server.url, THROTTLE="0", **OWN_SETTINGS
    ) as site:
        site.wait_until_it_serves()
        yield site
        assert site.stop() == 0


@dataclass(frozen=True)
class Author:
    """A signed-in user with one post."""

    browser: Browser
    uid: str

    def sees(self, path):
        status, page = self.browser.open(path)
        return status == 200 and SIGNED_IN in page

    def updates(self, server):
        """The ids of the user's posts, oldest first."""
        return server.admin.zrange(f"updates:{self.uid}", 0, -1)


@pytest.fixture
def alice(site, server):
    """A new user in each test, since the posts of other tests stay."""
    name = f"Alice_{next(numbers)}"
    browser = Browser(site.port)
    wait_until_it_recovers(browser)
    browser.submit("/register/", username=name, password1=PASSWORD, password2=PASSWORD)
    _, page = browser.open("/post/", {**browser.ask("/").form("/post/"), "body": WRITTEN})
    assert WRITTEN in page
    return Author(browser, server.admin.hget("users", name.lower()))


def wait_until_it_recovers(browser):
    """Wait until both web workers work again. A request goes to either of them, so there are many requests."""
    paths = ["/", "/readyz"] * 10
    wait_until(lambda: all(browser.open(path)[0] == 200 for path in paths), "the site to recover")


def in_time(answer):
    """Assert that the answer came in time and sets no new session."""
    assert_timeout("an answer while the store fails", answer.seconds, TIME_LIMIT)
    assert not answer.sets("auth")
    return answer


def unavailable(answer):
    """Assert that the answer is the 503 page."""
    assert in_time(answer).status == 503, answer.page
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Temporarily unavailable" in answer.page
    return answer


def kept_form(answer, token):
    """The form of the 503 page. Asserts that it has the typed text and its token."""
    assert f">\n{TYPED_AS_HTML}</textarea>" in unavailable(answer).page
    assert f'<input type="hidden" name="token" value="{token}">' in answer.page
    form = answer.form("/post/")
    assert (form["body"], form["token"]) == (TYPED, token)
    return form


@pytest.mark.parametrize("fault", FAULTS)
def test_the_site_answers_while_the_store_fails(site, server, alice, fault):
    browser, secret, pids = alice.browser, alice.browser.cookie("auth"), site.pids()
    form = {**browser.ask("/").form("/post/"), "body": TYPED}
    with FAULTS[fault](server):
        for path in ("/", "/timeline/"):
            answer = in_time(browser.ask(path))
            if fault in READING_WORKS:
                assert answer.status == 200
                assert WRITTEN in answer.page
                assert SIGNED_IN in answer.page
            else:
                unavailable(answer)
        again = kept_form(browser.ask("/post/", form), form["token"])
        again = kept_form(browser.ask("/post/", again), form["token"])
        # To end one session needs no memory, so a full store still does that.
        everywhere = {"csrfmiddlewaretoken": again["csrfmiddlewaretoken"]}
        unavailable(browser.ask("/settings/sessions/everywhere/", everywhere))
        live, ready = in_time(browser.ask("/livez")), in_time(browser.ask("/readyz"))
        assert (live.status, live.page) == (200, "ok\n")
        assert ready.status == 503
        assert int(ready.headers["Retry-After"]) > 0

    wait_until_it_recovers(browser)
    assert alice.sees("/")
    assert browser.cookie("auth") == secret
    for _ in range(2):
        status, page = browser.open("/post/", again)
        assert (status, page.count(f">{TYPED_AS_HTML}</p>")) == (200, 1)
    before, posted = alice.updates(server)
    assert server.admin.hget(f"post:{before}", "body") == WRITTEN
    assert server.admin.hget(f"post:{posted}", "body") == TYPED
    assert server.admin.get(f"idem:{alice.uid}:{form['token']}") == posted
    assert server.admin.lrange("timeline", 0, -1).count(posted) == 1
    assert server.admin.hexists(f"user:{alice.uid}", f"session:{secret}")
    assert not any(server.admin.zscan_iter("outbox", f"post:{posted}:*"))
    assert site.pids() == pids
    assert all(alive(pid) for pid in pids)
    assert "Traceback" not in site.printed()
    assert secret not in site.printed()


@pytest.mark.parametrize("fault", READING_WORKS)
def test_a_read_only_store_is_shown_even_without_its_lists(site, server, alice, fault):
    lists = ("timeline", f"posts:{alice.uid}")
    server.admin.delete(*lists)
    with READING_WORKS[fault](server):
        for path in ("/", "/timeline/"):
            answer = in_time(alice.browser.ask(path))
            assert answer.status == 200
            assert WRITTEN in answer.page
        assert server.admin.exists(*lists) == 0
    wait_until_it_recovers(alice.browser)
    assert alice.sees("/timeline/")
    assert server.admin.exists(*lists) == 2


@pytest.mark.parametrize("fault", READING_WORKS)
def test_a_read_only_store_shows_a_home_timeline_of_another_process(site, server, fault):
    """Reading it extends its expiry, which is a write."""
    store, browser = Store(OneServer(server.admin)), Browser(site.port)
    bob = register(store, f"bob_{next(numbers)}")
    home = f"posts:{bob.user.uid}"
    server.admin.rpush(home, publish(server.admin, store, bob, WRITTEN), "b1", "0")
    wait_until_it_recovers(browser)
    browser.submit("/login/", username=bob.user.username, password=PASSWORD, next="/timeline/")
    with READING_WORKS[fault](server):
        answer = in_time(browser.ask("/"))
        assert answer.status == 200
        assert WRITTEN in answer.page
        assert SIGNED_IN in answer.page
    wait_until_it_recovers(browser)
    assert server.admin.ttl(home) > 0


def test_many_clients_get_an_answer_in_time_while_the_store_hangs(site, server, alice):
    with ThreadPoolExecutor(20) as clients, hanging(server):
        for answer in clients.map(lambda _: Browser(site.port).ask("/timeline/"), range(60)):
            unavailable(answer)
    wait_until_it_recovers(alice.browser)


@pytest.mark.parametrize("fault", ["down", "hanging"])
def test_a_form_sent_during_the_failure_is_posted_once(site, server, alice, fault):
    composer = alice.browser.ask("/").form("/post/")

    def write(name):
        """Post one after the other until the store fails. Returns the texts and the last form."""
        for number in range(1, 1000):
            form = {**composer, "body": f"{name} {number}", "token": f"{name}-{number}"}
            answer = in_time(alice.browser.ask("/post/", form))
            if answer.status == 503:
                return [f"{name} {earlier}" for earlier in range(1, number + 1)], form
        pytest.fail("the store did not fail")

    with ThreadPoolExecutor(4) as writers:
        writing = [writers.submit(write, name) for name in ("a", "b", "c", "d")]
        wait_until(lambda: len(alice.updates(server)) > 10, "posts")
        with FAULTS[fault](server):
            written, forms = zip(*(writer.result() for writer in writing), strict=True)
    wait_until_it_recovers(alice.browser)
    for form in forms:
        assert alice.browser.open("/post/", form)[0] == 200
    bodies = [server.admin.hget(f"post:{pid}", "body") for pid in alice.updates(server)]
    assert sorted(bodies) == sorted([WRITTEN, *itertools.chain(*written)])


def test_the_worker_recovers_by_itself(site, server, alice):
    (pid,) = alice.updates(server)
    errors = site.printed().count("ERROR retwis.deliver: deliver: ")
    with down(server):
        wait_until(lambda: site.printed().count("ERROR retwis.deliver: deliver: ") > errors, "the worker to notice")
    server.admin.zrem(f"updates:{alice.uid}", pid)
    server.admin.zadd("outbox", {f"post:{pid}:abc": LONG_AGO})
    wait_until(lambda: server.admin.zscore("outbox", f"post:{pid}:abc") is None, "the worker to finish it")
    assert alice.updates(server) == [pid]


def test_a_site_that_starts_before_its_store_waits_for_it(tmp_path):
    with (
        a_server() as server,
        run_site(
            tmp_path / "var", tmp_path / "log", free_port(), REDIS_URL=server.url, THROTTLE="0", **OWN_SETTINGS
        ) as site,
    ):
        site.wait_until_it_serves()
        unavailable(site.browser.ask("/"))
        assert in_time(site.browser.ask("/readyz")).status == 503
        server.start()
        wait_until_it_recovers(site.browser)
        assert site.stop() == 0
