"""A browser over TLS, for a site behind a proxy on this machine."""

import http.client
import http.cookiejar
import socket
import ssl
import urllib.request

from tests.support.http.http_browser import TIMEOUT, Browser


class _Connection(http.client.HTTPSConnection):
    """To this machine, whatever the name of the host."""

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), TIMEOUT, self.source_address)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host)


class _To(urllib.request.HTTPSHandler):
    def __init__(self, context, address):
        super().__init__(context=context)
        self._source = (address, 0)

    def https_open(self, request):
        return self.do_open(_Connection, request, context=self._context, source_address=self._source)


class TlsBrowser(Browser):
    """`certificates`: what it trusts, as a file. `headers` go with each request, beside those of a browser."""

    def __init__(self, host, port, certificates, address="127.0.0.1", **headers):
        self.origin = f"https://{host}:{port}"
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(self._cookies),
            _To(ssl.create_default_context(cafile=certificates), address),
        )
        self._opener.addheaders = [("Origin", self.origin), *headers.items()]

    def cookies(self):
        """The names of all cookies."""
        return {cookie.name for cookie in self._cookies}

    def write(self, body):
        """Post a text at home."""
        status, page = self.open("/post/", {**self.ask("/").form("/post/"), "body": body})
        assert status == 200, page
