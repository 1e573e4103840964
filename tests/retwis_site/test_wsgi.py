"""An answer to HEAD has the headers of the page, and no body."""

import io

import pytest


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
