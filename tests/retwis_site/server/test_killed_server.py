"""The Redis server gets SIGKILL while users post: every acknowledged post is there, and the site recovers."""

import json
import threading
from dataclasses import dataclass, field

import pytest
import redis

from tests.support.http.http_browser import Browser
from tests.support.people import PASSWORD
from tests.support.processes.processes import end, environment, free_port, manage, run_site, wait_until
from tests.support.runs import sampling

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

AUTHORS = 8
KILLS = sampling.shorter(6, 2)
POSTS_BETWEEN = 150  # by all authors together


@dataclass
class Author:
    """A user that posts one text after the other. It repeats each post, with its token, until it is acknowledged."""

    browser: Browser
    name: str
    acknowledged: list = field(default_factory=list)
    failures: int = 0

    def sign_up(self):
        self.browser.submit("/register/", username=self.name, password1=PASSWORD, password2=PASSWORD)

    def write(self, stop):
        form = self.browser.ask("/").form("/post/")
        while not stop.is_set():
            number = len(self.acknowledged)
            self.post({**form, "body": f"{self.name} {number}", "token": f"{self.name}-{number}"})

    def post(self, form):
        while True:
            answer = self.browser.ask("/post/", form)
            if answer.status == 200 and 'action="/logout/"' in answer.page:
                self.acknowledged.append(form["body"])
                return
            # The post may be stored although the page after it failed. Then the next request repeats the post.
            assert answer.status == 503, answer.page
            assert answer.headers["Retry-After"]
            self.failures += 1


@pytest.fixture
def site(tmp_path):
    with run_site(tmp_path / "var", tmp_path / "log", free_port(), THROTTLE="0") as site:
        site.wait_until_it_serves()
        yield site
        site.stop()


def test_every_acknowledged_post_is_there(site, tmp_path):
    store = tmp_path / "var" / "store"
    pid_file = store / "server.pid"
    authors = [Author(Browser(site.port), f"author_{number}") for number in range(AUTHORS)]
    for author in authors:
        author.sign_up()
    stop = threading.Event()
    threads = [threading.Thread(target=author.write, args=(stop,)) for author in authors]
    for thread in threads:
        thread.start()
    try:
        for _ in range(KILLS):
            before = written(authors)
            wait_until(lambda before=before: written(authors) > before + POSTS_BETWEEN, "more posts")
            server = pid_file.read_text()
            end(int(server))
            # The file is empty for a moment, while the next server writes it.
            wait_until(lambda server=server: pid_file.read_text() not in {server, ""}, "another server")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert sum(author.failures for author in authors) > 0

    with redis.Redis(unix_socket_path=str(store / "redis.sock"), decode_responses=True) as raw:
        # A job that the worker had at two of the kills waits for the end of its lease.
        wait_until(lambda: not raw.zcard("outbox") or make_due(raw), "the last deliveries")
        for author in authors:
            uid = raw.hget("users", author.name)
            texts = [raw.hget(f"post:{pid}", "body") for pid in raw.zrange(f"updates:{uid}", 0, -1)]
            assert texts == author.acknowledged
    doctor = manage("doctor", "--json", env={**environment(tmp_path / "var"), "REDIS_URL": ""})
    assert doctor.returncode == 0, doctor.stdout
    assert json.loads(doctor.stdout)["errors"] == []


def written(authors):
    return sum(len(author.acknowledged) for author in authors)


def make_due(raw):
    """Make the jobs due that were left at a kill, as if a minute had passed. Returns None."""
    for job in raw.zrange("outbox", 0, -1):
        raw.zadd("outbox", {job: 1}, xx=True)
