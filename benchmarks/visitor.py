"""HTTP clients that act like browsers: signed-in users, a kept connection, and forms with the tokens of the page."""

import http.client
import json
import random
import re
import string
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import redis
from django.conf import settings

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import User, Verified
from benchmarks.wrk import Visit
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer

TIMEOUT = 60.0  # seconds
CSRF_LETTERS = string.ascii_letters + string.digits


class WrongAnswer(Exception):
    """The site answered with another page than the one to be measured."""


@dataclass(frozen=True)
class Viewer:
    """A signed-in user."""

    uid: int
    name: str
    secret: str
    csrf: str  # unmasked; a form may send it instead of the masked token

    @property
    def profile(self) -> str:
        """Its path."""
        return f"/@{self.name}/"

    def visit(self, path: str) -> Visit:
        cookies = f"{settings.AUTH_COOKIE}={self.secret}; {settings.CSRF_COOKIE_NAME}={self.csrf}"
        return Visit(path, {"Cookie": cookies}, (self.name,))


def app_visit(client: redis.Redis, viewer: Viewer, path: str) -> Visit:
    """A visit of an app with a new token of this user."""
    store = Store(OneServer(client))
    app, _ = Apps(store).register("Benchmark", "", [OUT_OF_BAND], ["read"])
    generation = store.hget(keys.user(viewer.uid), "generation") or ""
    token = Tokens(store).issue(Code(viewer.uid, generation, app.id, app.scopes, OUT_OF_BAND))
    return Visit(path, {"Authorization": f"Bearer {token}"})


@dataclass(frozen=True)
class Answer:
    """A response. Redirects are not followed."""

    status: int
    body: bytes
    location: str
    seconds: float

    @property
    def page(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def posts(self) -> int:
        """The number of posts on the page, or in a timeline for apps."""
        return len(json.loads(self.body)) if self.body.startswith(b"[") else self.body.count(b"<article")

    def field(self, name: str) -> str:
        """The value of a hidden field in any form of the page. Raises WrongAnswer when there is none."""
        found = re.search(rf'name="{name}" value="([^"]+)"', self.page)
        if found is None:
            raise WrongAnswer(f"{self.status}: no field {name}")
        return found[1]


class Visitor:
    """A browser with one connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def get(self, visit: Visit) -> Answer:
        return self._request("GET", visit, None)

    def see(self, visit: Visit) -> Answer:
        """Raises WrongAnswer unless the page has a logout button when a user asks only, and links to all names."""
        answer = self.get(visit)
        page, signed_in = answer.page, "Cookie" in visit.headers
        if answer.status != 200:
            raise WrongAnswer(f"{visit.path}: {answer.status}")
        if ('action="/logout/"' in page) != signed_in:
            raise WrongAnswer(f"{visit.path}: the page is for a {'signed-out' if signed_in else 'signed-in'} user")
        if missing := [name for name in visit.names if f'href="/@{name}/"' not in page]:
            raise WrongAnswer(f"{visit.path}: no link to {', '.join(missing)}")
        return answer

    def post(self, visit: Visit, **fields: str) -> Answer:
        return self._request("POST", visit, urlencode(fields), {"Content-Type": "application/x-www-form-urlencoded"})

    def _request(self, method: str, visit: Visit, body: str | None, more: Mapping[str, str] = {}) -> Answer:
        began = time.perf_counter()
        self._connection.request(method, visit.path, body, {**visit.headers, **more})
        response = self._connection.getresponse()
        received = response.read()
        took = time.perf_counter() - began
        return Answer(response.status, received, response.headers.get("Location", ""), took)

    def close(self) -> None:
        self._connection.close()


def people(client: redis.Redis) -> list[Viewer]:
    """All registered users. Each has logged in, with a session of their own."""
    rng = random.Random(1)
    sessions = Sessions(Store(OneServer(client)))
    found = []
    for uid in map(int, client.hvals(keys.users())):
        username = str(client.hget(keys.user(uid), "username"))
        secret = sessions.open(Verified(User(uid, username)), Device("Firefox", "Linux"))
        found.append(Viewer(uid, username, secret, "".join(rng.choices(CSRF_LETTERS, k=32))))
    return found
