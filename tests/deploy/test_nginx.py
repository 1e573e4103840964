"""nginx takes the configuration, speaks TLS 1.2 and 1.3 in an `http` block that says nothing of TLS, and has a page for
the time in which the site does not answer."""

import contextlib
import http.client
import re
import socket
import socketserver
import ssl
import subprocess
import threading
import warnings

import pytest

from retwis_site.http.security_headers import HEADERS
from tests.support.deploy.machine import HOST, Machine, setting
from tests.support.processes.processes import wait_until

ITS_OWN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 11\r\n\r\nits own 503"


@pytest.mark.parametrize("server", ["gunicorn", "uwsgi"])
def test_nginx_takes_the_configuration_without_a_warning(server):
    machine = Machine()
    machine.write_nginx(server)
    answer = subprocess.run(machine.nginx("-t"), capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "[warn]" not in answer.stderr


@contextlib.contextmanager
def nginx_alone(server):
    """A machine with nginx and the static files, and without a site. A site has one second for its answer, where the
    configuration says nothing else."""
    machine = Machine()
    machine.write_nginx(server)
    site = machine.path("site.conf")
    silent = r"((?:proxy|uwsgi)_)(pass .*)(?!\s+(?:proxy|uwsgi)_read_timeout)$"
    site.write_text(re.sub(silent, r"\1\2 \1read_timeout 1s;", site.read_text(), flags=re.MULTILINE))
    [collect] = setting(machine.text("retwis-web.service"), "ExecStartPre")
    subprocess.run(machine.command(collect), env=machine.environment(), check=True)
    with machine.running(machine.nginx(), "nginx"):
        wait_until(lambda: socket.create_connection(("127.0.0.1", machine.https), 1).close() is None, "nginx")
        yield machine


@pytest.fixture(scope="module", params=["gunicorn", "uwsgi"])
def machine(request):
    with nginx_alone(request.param) as machine:
        yield machine


@contextlib.contextmanager
def a_site_that_answers(machine, answer, until):
    """A server on the socket of the site, which waits for `until` and then sends these bytes to each request."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            until.wait(30)
            self.request.sendall(answer)

    path = machine.path("run/retwis/web.sock")
    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            until.set()
            server.shutdown()
            path.unlink()


@pytest.mark.parametrize("host", [HOST, "other.example"])
@pytest.mark.parametrize("spoken", [ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_1_3_alone_are_spoken_and_only_for_the_host_of_the_site(machine, spoken, host):
    context = ssl.create_default_context(cafile=machine.path("ca.pem"))
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # else OpenSSL itself refuses 1.1
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # 1.1 is deprecated
        context.minimum_version = context.maximum_version = spoken
    with (
        socket.create_connection(("127.0.0.1", machine.https), 10) as plain,
        pytest.raises(ssl.SSLError) if refused(spoken, host) else contextlib.nullcontext(),
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        assert connection.version() == spoken.name.replace("_", ".")


def refused(spoken, host):
    return spoken < ssl.TLSVersion.TLSv1_2 or host != HOST


def test_a_page_of_the_site_stands_for_it_while_it_is_down(machine):
    browser = machine.browser()
    for answer in (browser.ask("/"), browser.ask("/post/", {"body": "Typed"})):
        assert answer.status == 502
        for title in ("Temporarily unavailable", "Vorübergehend nicht verfügbar", "غير متاح مؤقتًا"):
            assert f"<h1>{title}</h1>" in answer.page
        assert "Cache-Control" not in answer.headers
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    for path in re.findall(r'href="(/[^"]+)"', answer.page):
        found = browser.ask(path)
        assert (found.status, found.headers["Access-Control-Allow-Origin"]) == (200, "*"), path


def test_pictures_that_are_too_large_together_are_a_422_at_once(machine):
    for path, type_ in (("/post/", "text/html"), ("/api/v2/media", "application/json")):
        answer = machine.answer_to_too_large(path)
        assert answer.startswith(b"HTTP/1.1 422")
        assert f"Content-Type: {type_}".encode() in answer
        assert b"Access-Control-Allow-Origin: *" in answer  # apps on pages of other sites read why


def http2(machine, path, size):
    """Status and text of what a browser gets that speaks HTTP/2, for a form of so many bytes."""
    here = ["--resolve", f"{HOST}:{machine.https}:127.0.0.1", "--cacert", machine.path("ca.pem"), "--noproxy", "*"]
    form = ["--http2", "--silent", "--data-binary", "@-", "--write-out", "\\n%{http_code} %{http_version}"]
    command = ["curl", *here, *form, f"https://{HOST}:{machine.https}{path}"]
    answer = subprocess.run(command, input=b"x" * size, capture_output=True, check=True).stdout.decode()
    text, status, version = answer.rsplit(maxsplit=2)
    assert version == "2"
    return int(status), text


@pytest.mark.parametrize("path", ["/post/", "/api/v2/media"])
def test_over_http_2_too(machine, path):
    status, text = http2(machine, path, 25 << 20)
    assert (status, "Pictures may have 24 MB together." in text) == (422, True)
    status, text = http2(machine, path, 2 << 20)
    assert (status, "<h1>Temporarily unavailable</h1>" in text) == (502, True)


def test_a_site_that_takes_too_long_is_a_504_with_the_same_page(machine):
    with a_site_that_answers(machine, b"", threading.Event()):
        answer = machine.browser().ask("/")
    assert (answer.status, "<h1>Temporarily unavailable</h1>" in answer.page) == (504, True)


def test_a_download_may_take_longer_than_a_page(machine):
    """The whole file is made before any of it is sent."""
    made = threading.Event()
    threading.Timer(3, made.set).start()
    with a_site_that_answers(machine, ITS_OWN, made):
        answer = machine.browser().ask("/settings/download/")
    assert (answer.status, answer.page) == (503, "its own 503")


def test_what_the_site_answers_itself_stays_as_it_is(machine):
    at_once = threading.Event()
    at_once.set()
    with a_site_that_answers(machine, ITS_OWN, at_once):
        answer = machine.browser().ask("/")
    assert (answer.status, answer.page) == (503, "its own 503")


def test_one_address_may_ask_so_often_and_of_ipv6_its_network():
    """A customer of a provider picks addresses within a /64 network. The limit for all addresses together is away: a
    fast machine comes to it with these requests."""
    machine = Machine()
    machine.write_nginx()
    site = machine.path("site.conf")
    believed = "server_tokens off; set_real_ip_from 127.0.0.1; real_ip_header X-Tested-Address;"
    text, found = re.subn(
        r"limit_req zone=retwis_all .*;", "", site.read_text().replace("server_tokens off;", believed)
    )
    assert found == 1
    site.write_text(text)

    def refused(addresses):
        """How many of these requests are refused, each from another address."""
        with machine.connected() as connection:
            statuses = []
            for address in addresses:
                head = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX-Tested-Address: {address}\r\n\r\n"
                connection.sendall(head.encode())
                response = http.client.HTTPResponse(connection)
                response.begin()
                response.read()
                statuses.append(response.status)
        return statuses.count(429)

    with machine.running(machine.nginx(), "nginx"):
        wait_until(lambda: socket.create_connection(("127.0.0.1", machine.https), 1).close() is None, "nginx")
        assert refused(f"2001:db8:a0a:d0d:{number:x}:a0a::1" for number in range(1, 400)) > 0
        assert refused(f"2001:db8:a0a:{number:x}::1" for number in range(1, 400)) == 0
        assert refused(["192.0.2.7"] * 400) > 0
        for form in ("", "::ffff:"):  # as one socket for both families writes them
            assert refused(f"{form}198.51.{number // 200}.{number % 200}" for number in range(400)) == 0


def test_without_its_static_files_it_is_still_a_502():
    with nginx_alone("gunicorn") as machine:
        machine.path("var/lib/retwis/static/down.html").unlink()
        assert machine.browser().ask("/").status == 502
