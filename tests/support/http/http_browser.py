"""A browser over real HTTP, with cookies and forms, for sites in other processes."""

import http.client
import http.cookiejar
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from html.parser import HTMLParser

# Seconds, for any wait of a test: it must fail rather than hang, but never because the machine is busy.
TIMEOUT = 90.0


@dataclass(frozen=True)
class Answer:
    """The response after redirects. `seconds`: the time until it was read."""

    status: int
    headers: Message
    page: str
    seconds: float

    def form(self, action):
        """The fields of the page's form, or of its button's form, with this action, including the CSRF token."""
        forms = _Forms()
        forms.feed(self.page)
        found = forms.found | {to: forms.by_id[form] for to, form in forms.buttons.items()}
        assert action in found, f"{self.status}: only {list(found)}"
        return found[action]

    def sets(self, cookie):
        return any(line.startswith(f"{cookie}=") for line in self.headers.get_all("Set-Cookie", []))


class _Forms(HTMLParser):
    """Every form by its action and by its id, as a dict of its fields' values, and the buttons that stand outside
    of their form."""

    def __init__(self):
        super().__init__()
        self.found = {}
        self.by_id = {}
        self.buttons = {}  # the id of the form, by the address
        self._fields = {}
        self._textarea = None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "form":
            self._fields = self.found[attributes.get("action", "")] = self.by_id[attributes.get("id")] = {}
        elif tag == "button" and "formaction" in attributes:
            if "form" in attributes:
                self.buttons[attributes["formaction"]] = attributes["form"]
            else:
                self.found[attributes["formaction"]] = self._fields
        elif tag == "input" and "name" in attributes:
            self._fields[attributes["name"]] = attributes.get("value", "")
        elif tag == "textarea" and "name" in attributes:
            self._textarea = attributes["name"]
            self._fields[self._textarea] = ""

    def handle_data(self, data):
        if self._textarea is not None:
            self._fields[self._textarea] += data

    def handle_endtag(self, tag):
        if tag == "textarea" and self._textarea is not None:
            self._fields[self._textarea] = self._fields[self._textarea].removeprefix("\n")
            self._textarea = None


class _From(urllib.request.HTTPHandler):
    """Connects from one address of this machine."""

    def __init__(self, address):
        super().__init__()
        self._address = address

    def http_open(self, request):
        return self.do_open(http.client.HTTPConnection, request, source_address=(self._address, 0))


class _Stay(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for the answer."""

    def redirect_request(self, *_):
        return None


class Browser:
    """A browser with cookies of its own. `address`: where it is, such as 127.0.0.2."""

    redirects = urllib.request.HTTPRedirectHandler

    def __init__(self, port, address="127.0.0.1"):
        self._open_at(f"http://127.0.0.1:{port}", _From(address))

    def _open_at(self, origin, connects):
        self.origin = origin
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(self._cookies),
            self.redirects,
            connects,
        )

    def ask(self, path, form=None):
        """The answer to a GET, or with `form` to a POST."""
        data = urllib.parse.urlencode(form).encode() if form else None
        started = time.monotonic()
        try:
            response = self._opener.open(self.origin + path, data, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            page = response.read().decode()
            return Answer(response.status, response.headers, page, time.monotonic() - started)

    def open(self, path, form=None):
        """Like `ask`; returns the status and the page."""
        answer = self.ask(path, form)
        return answer.status, answer.page

    def submit(self, path, **fields):
        """Open the page of a form, fill in the form and send it. Returns the status and the page."""
        answer = self.ask(path)
        assert answer.status == 200, answer.page
        return self.open(path, {**answer.form(path), **fields})

    def cookie(self, name):
        """The value of a cookie; None without it."""
        return next((cookie.value for cookie in self._cookies if cookie.name == name), None)


class StayingBrowser(Browser):
    """A browser that follows no redirect, so that the answer to a form is known whatever comes after it."""

    redirects = _Stay
