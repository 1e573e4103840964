"""A browser over real HTTP, with cookies and forms, for sites that run in processes of their own."""

import http.cookiejar
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from html.parser import HTMLParser

ANSWERS_WITHIN = 10.0  # seconds; a test that hangs tells nothing


@dataclass(frozen=True)
class Answer:
    """What came back, after redirects; `seconds`: how long that took."""

    status: int
    headers: Message
    page: str
    seconds: float

    def form(self, action):
        """The fields of the page's form for that address as they stand there, the CSRF token among them."""
        forms = _Forms()
        forms.feed(self.page)
        assert action in forms.found, f"{self.status}: only {list(forms.found)}"
        return forms.found[action]

    def sets(self, cookie):
        return any(line.startswith(f"{cookie}=") for line in self.headers.get_all("Set-Cookie", []))


class _Forms(HTMLParser):
    """Every form by its action, as a dict of what its fields hold."""

    def __init__(self):
        super().__init__()
        self.found = {}
        self._fields = {}
        self._typing = None

    def handle_starttag(self, tag, attrs):
        its = dict(attrs)
        if tag == "form":
            self._fields = self.found[its["action"]] = {}
        elif tag == "input":
            self._fields[its["name"]] = its.get("value", "")
        elif tag == "textarea":
            self._typing = its["name"]
            self._fields[self._typing] = ""

    def handle_data(self, data):
        if self._typing is not None:
            self._fields[self._typing] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._fields[self._typing] = self._fields[self._typing].removeprefix("\n")
            self._typing = None


class Browser:
    """Somebody's browser, with cookies of its own."""

    def __init__(self, port):
        self.origin = f"http://127.0.0.1:{port}"
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._cookies)
        )

    def ask(self, path, form=None):
        """The answer to a GET, or to a form that is sent."""
        data = urllib.parse.urlencode(form).encode() if form else None
        started = time.monotonic()
        try:
            response = self._opener.open(self.origin + path, data, timeout=ANSWERS_WITHIN)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            page = response.read().decode()
            return Answer(response.status, response.headers, page, time.monotonic() - started)

    def open(self, path, form=None):
        """The status and the page."""
        answer = self.ask(path, form)
        return answer.status, answer.page

    def submit(self, path, **fields):
        """Open the page of a form, fill it in and send it."""
        answer = self.ask(path)
        assert answer.status == 200, answer.page
        return self.open(path, {**answer.form(path), **fields})

    def cookie(self, name):
        """What a cookie holds; None without it."""
        return next((cookie.value for cookie in self._cookies if cookie.name == name), None)
