"""A site moves to another store, as docs/scaling.md describes, while a user posts. No post is lost."""

import contextlib
import http.client
import itertools
import re
import threading
import urllib.error

import pytest
import redis

from tests.support.http.http_browser import Browser
from tests.support.people import PASSWORD
from tests.support.processes.processes import environment, free_port, manage, run_site, wait_until
from tests.support.stores import topologies

POSTS = 15  # at least, before each move
ONE_SERVER = {"REDIS_TOPOLOGY": "server"}


class Author:
    """A user that posts until the site stops. After the move, a post without an answer is sent again with its token."""

    def __init__(self, port):
        self.port = port
        self.browser = Browser(port)
        self.acknowledged = {}  # text -> path of the post

    def sign_up(self):
        self.browser.submit("/register/", username="author", password1=PASSWORD, password2=PASSWORD)

    def write_until_it_stops(self):
        with contextlib.suppress(urllib.error.URLError, http.client.HTTPException, ConnectionError):
            form = self.browser.ask("/").form("/post/")
            while True:
                text = f"text {len(self.acknowledged)}"
                answer = self.browser.ask("/post/", {**form, "body": text, "token": text.replace(" ", "-")})
                assert answer.status == 200, answer.page
                self.acknowledged[text] = re.search(r'"(/@author/[0-9]+/)"', answer.page)[1]

    def check_posts(self):
        """Check that the author is still signed in, and that the profile has each text once and in order. Check the own
        page of every tenth post. A post without an answer may be there too."""
        home = self.browser.ask("/")
        assert 'action="/logout/"' in home.page
        for text, path in list(self.acknowledged.items())[::10]:
            answer = self.browser.ask(path)
            assert (answer.status, _texts(answer.page)) == (200, [text])
        profile = self._profile()
        answered = list(reversed(self.acknowledged))
        assert profile in (answered, [f"text {len(answered)}", *answered])
        assert _texts(home.page) == profile[:20]

    def _profile(self):
        texts, path = [], "/@author/"
        while path:
            page = self.browser.ask(path).page
            texts += _texts(page)
            older = re.search(r"\?before=[0-9]+", page)
            path = older and f"/@author/{older[0]}"
        return texts


def _texts(page):
    return re.findall(r">(text [0-9]+)<", page)


@pytest.fixture
def author():
    return Author(free_port())


@pytest.fixture
def site(tmp_path, author):
    """`with site(REDIS_URL=...):` the site runs with that store. It stops after the block, while the author posts."""
    logs = (tmp_path / f"log{run}" for run in itertools.count(1))

    @contextlib.contextmanager
    def run(**changes):
        with run_site(tmp_path / "var", next(logs), author.port, THROTTLE="0", **changes) as site:
            site.wait_until_it_serves()
            if not author.acknowledged:
                author.sign_up()
            author.check_posts()
            before = len(author.acknowledged)
            writing = threading.Thread(target=author.write_until_it_stops)
            writing.start()
            wait_until(lambda: len(author.acknowledged) >= before + POSTS or not writing.is_alive(), "posts")
            yield
            site.stop()
            writing.join()
            assert len(author.acknowledged) >= before + POSTS

    return run


@pytest.fixture
def copy(tmp_path):
    def run(source, **changes):
        ended = manage("copy", f"--from={source}", env=environment(tmp_path / "var", **changes))
        assert (ended.returncode, len(ended.stderr.splitlines())) == (0, 1)  # which store it is
        checked = manage("doctor", env=environment(tmp_path / "var", **changes))
        assert "No errors." in checked.stdout

    return run


@pytest.fixture
def server(tmp_path):
    with topologies.running([topologies.Server(tmp_path, free_port(), "--appendonly", "yes")]) as [server]:
        yield server


def has_primary(port, server):
    """Whether the sentinel at `port` reports this server as the primary."""
    with redis.Redis(port=port, decode_responses=True) as sentinel:
        return sentinel.sentinel_get_master_addr_by_name(topologies.SERVICE) == ("127.0.0.1", server.port)


@pytest.mark.sentinel
def test_a_site_moves_from_the_embedded_server_to_one_server_to_sentinels(site, copy, server, author, tmp_path):
    one = {**ONE_SERVER, "REDIS_URL": f"redis://127.0.0.1:{server.port}"}
    with site(**ONE_SERVER):
        pass
    copy("embedded", **one)
    ports = topologies.free_ports(4)
    with topologies.running([topologies.Server(tmp_path, ports[0])]) as [replica], contextlib.ExitStack() as stack:
        with site(**one):
            replica.client.replicaof("127.0.0.1", server.port)
            wait_until(lambda: replica.client.info()["master_link_status"] == "up", "the replica")
            stack.enter_context(topologies.sentinels(tmp_path, ports[1:], server.port, users=[]))
        sentinels = {
            "REDIS_TOPOLOGY": "sentinel",
            "REDIS_SENTINEL_SERVICE": topologies.SERVICE,
            "REDIS_SENTINEL_USERNAME": "",
            "REDIS_SENTINEL_PASSWORD": "",
            "REDIS_URL": ",".join(f"redis://127.0.0.1:{port}" for port in ports[1:]),
        }
        with site(**sentinels):
            pass
        topologies.wait_for_replica(server.client, replica.client)
        server.kill()
        wait_until(lambda: all(has_primary(port, replica) for port in ports[1:]), "another primary")
        with site(**sentinels):
            pass


@pytest.mark.cluster
def test_a_site_moves_from_one_server_to_a_cluster_and_back(raw, site, copy, server, settings, tmp_path):
    one = {**ONE_SERVER, "REDIS_URL": f"redis://127.0.0.1:{server.port}"}
    cluster = {"REDIS_TOPOLOGY": "cluster", "REDIS_URL": settings.REDIS_URL}
    with site(**one):
        pass
    copy(one["REDIS_URL"], **cluster)
    with site(**cluster):
        pass
    server.client.flushall()
    copy(settings.REDIS_URL.partition(",")[0], **one)
    with site(**one):
        pass
