"""The WSGI application: the answer to HEAD has no body, few addresses are kept with what they lead to, and at the start
a line says who finishes jobs, over a connection that does not stay."""

import io
import logging
import time

import pytest
from django.http import HttpRequest

from tests.support.processes.fresh_process import in_a_process


@pytest.mark.usefixtures("raw", "serving")
def test_a_wsgi_server_gets_no_body(client):
    from retwis_site.wsgi import application

    environ = {
        "REQUEST_METHOD": "HEAD",
        "PATH_INFO": "/about/",
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    sent_headers = {}
    assert application(environ, lambda status, headers: sent_headers.update(headers)) == []
    assert int(sent_headers["Content-Length"]) == len(client.get("/about/").content) > 1000


@pytest.mark.parametrize(
    ("seen", "level", "line"),
    [
        (None, logging.WARNING, "no worker has run yet: start `manage.py deliver`"),
        (3600, logging.WARNING, "no worker has run for 360"),
        (2, logging.INFO, "`manage.py deliver` runs beside this web server"),
    ],
)
def test_the_start_says_whether_a_worker_runs(raw, serving, caplog, seen, level, line):
    from retwis_site.wsgi import say_who_delivers

    if seen is not None:
        raw.set("worker_seen", int(time.time()) - seen)
    say_who_delivers()
    [record] = caplog.records
    assert (record.levelno, record.getMessage().startswith(line)) == (level, True)


@pytest.mark.real_server
def test_the_start_leaves_no_connection_for_processes_to_share(raw, settings):
    code = """if True:
        import os
        def sockets():
            return sum("socket:[" in os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
        before = sockets()
        import retwis_site.wsgi
        print(sockets() - before)"""
    assert in_a_process(code, REDIS_URL=settings.REDIS_URL) == "0"


@pytest.fixture
def resolved(serving):
    """`resolved(path)`: the view, its arguments and their names, as the handler finds them."""
    from retwis_site.wsgi import application

    def resolve(path):
        request = HttpRequest()
        request.path_info = path
        return application.resolve_request(request)

    application._found.clear()
    yield resolve
    application._found.clear()


def test_what_a_middleware_changes_in_the_names_of_an_address_ends_with_its_request(resolved):
    view, _, names = resolved("/@alice/")
    names["username"] = "bob"
    assert resolved("/@alice/") == (view, (), {"username": "alice"})


def test_only_few_short_addresses_without_secrets_are_kept(resolved):
    from retwis_site.wsgi import MOST_FOUND, application

    resolved("/reset/a-secret/")
    resolved(f"/tags/{'a' * 100}/")
    assert application._found == {}
    for number in range(1, 2 * MOST_FOUND):
        resolved(f"/@alice/{number}/")
        assert len(application._found) <= MOST_FOUND
    assert resolved("/@alice/1/")[2] == {"username": "alice", "pid": 1}
