"""A store with TLS. Untrusted certificates are a 503, and no request hangs."""

import asyncio
import contextlib
import ssl
import threading
import time
from urllib.parse import quote

import pytest
import trustme
from django.conf import settings
from redis.connection import SSLConnection

from retwis_site.store.client import connect
from tests.support.runs.figures import assert_timeout
from tests.support.stores import acl_users

pytestmark = pytest.mark.real_server

PASSWORD_IN_URL = quote(acl_users.PASSWORDS[acl_users.SITE], safe="")


class Terminator:
    """Accepts TLS on a free port and forwards to the socket of the test server, which has no TLS."""

    def __init__(self, certificate, clients=None):
        """`clients`: the authority of the certificates that clients must have; without it they need none."""
        self.handshakes = 0  # successful ones
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(self._context)
        if clients is not None:
            clients.configure_trust(self._context)
            self._context.verify_mode = ssl.CERT_REQUIRED
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self):
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._forward, "127.0.0.1", 0, ssl=self._context))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error):
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _end(self):
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _forward(self, reader, writer):
        self.handshakes += 1
        from_server, to_server = await asyncio.open_unix_connection(f"{settings.STORE_DIR}/redis.sock")
        with contextlib.suppress(OSError):
            await asyncio.gather(self._pump(reader, to_server), self._pump(from_server, writer))

    async def _pump(self, reader, writer):
        with contextlib.closing(writer):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def authority_file(authority, tmp_path):
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return str(tmp_path / "ca.pem")


@pytest.fixture
def tls(authority):
    with Terminator(authority.issue_cert("localhost")) as terminator:
        yield terminator


def url(tls, scheme="rediss", host="localhost", **options):
    query = "&".join(f"{name}={quote(value)}" for name, value in options.items())
    return f"{scheme}://{acl_users.SITE}:{PASSWORD_IN_URL}@{host}:{tls.port}?{query}"


def log_line_of_a_503(browser, caplog):
    """Opens a page, which must be a 503 within 3 seconds. Returns its log line, which must not have the password."""
    assert browser().get("/livez").status_code == 200  # loads the views
    started = time.monotonic()
    assert browser().get("/timeline/").status_code == 503
    assert_timeout("a 503 of a store with TLS", time.monotonic() - started, 3)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
    assert acl_users.PASSWORDS[acl_users.SITE] not in line
    assert PASSWORD_IN_URL not in line
    return line


def test_the_site_works_over_tls_with_an_authority_that_the_url_names(use_the_site, raw, tls, authority_file, moved):
    moved(url(tls, ssl_ca_certs=authority_file))
    use_the_site()
    assert raw.hget("post:1", "body") == "in private"
    assert tls.handshakes >= 1
    assert connect().transport.client.connection_pool.connection_class is SSLConnection


def test_the_site_works_over_tls_with_an_authority_that_the_system_trusts(
    use_the_site, raw, tls, authority_file, moved, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", authority_file)
    moved(url(tls))
    use_the_site()
    assert raw.hget("post:1", "body") == "in private"
    assert tls.handshakes >= 1


def test_the_site_works_over_tls_with_a_server_that_needs_no_password(use_the_site, raw, tls, authority_file, moved):
    raw.execute_command("ACL", "SETUSER", acl_users.ADMIN, "nopass")
    try:
        moved(url(tls, ssl_ca_certs=authority_file).replace(f"{acl_users.SITE}:{PASSWORD_IN_URL}@", ""))
        use_the_site()
        assert raw.hget("post:1", "body") == "in private"
    finally:
        raw.execute_command("ACL", "SETUSER", acl_users.ADMIN, "resetpass", f">{acl_users.PASSWORDS[acl_users.ADMIN]}")


@pytest.mark.parametrize("trusted", ["those of the system", "another one, in the url"])
def test_a_certificate_of_an_unknown_authority_is_refused(browser, tls, moved, caplog, tmp_path, trusted):
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    moved(url(tls) if "system" in trusted else url(tls, ssl_ca_certs=str(tmp_path / "other.pem")))
    line = log_line_of_a_503(browser, caplog)
    assert "certificate verify failed" in line
    assert "ssl_ca_certs" in line
    assert tls.handshakes == 0


def test_a_certificate_for_another_host_is_refused(browser, tls, moved, caplog, authority_file):
    moved(url(tls, host="127.0.0.1", ssl_ca_certs=authority_file))
    line = log_line_of_a_503(browser, caplog)
    assert "not valid for '127.0.0.1'" in line
    assert "host name" in line


def test_the_site_shows_a_certificate_of_its_own_to_a_server_that_wants_one(
    use_the_site, raw, authority, authority_file, moved, tmp_path
):
    own = authority.issue_cert("retwis.example")
    own.cert_chain_pems[0].write_to_path(tmp_path / "site.pem")
    own.private_key_pem.write_to_path(tmp_path / "site.key")
    files = {"ssl_certfile": str(tmp_path / "site.pem"), "ssl_keyfile": str(tmp_path / "site.key")}
    with Terminator(authority.issue_cert("localhost"), clients=authority) as strict:
        moved(url(strict, ssl_ca_certs=authority_file, **files))
        use_the_site()
    assert raw.hget("post:1", "body") == "in private"


def test_plain_redis_to_a_tls_port_is_a_503_and_does_not_hang(site_timeout, browser, tls, moved, caplog):
    moved(url(tls, scheme="redis"))
    assert "REDIS_URL" in log_line_of_a_503(browser, caplog)
    assert tls.handshakes == 0
