"""HTTP clients that act like browsers: signed in, with one kept connection, and forms with the tokens of the page."""

import contextlib
import http.client
import json
import random
import re
import string
import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

import redis
from django.conf import settings

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import User, Verified
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer

POSTS_A_PAGE = 20
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
    def cookies(self) -> dict[str, str]:
        return {str(settings.AUTH_COOKIE): self.secret, str(settings.CSRF_COOKIE_NAME): self.csrf}

    @property
    def header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())


def bearer_of(client: redis.Redis, viewer: Viewer) -> str:
    """The header of an app with a new token of this user."""
    store = Store(OneServer(client))
    app, _ = Apps(store).register("Benchmark", "", [OUT_OF_BAND], ["read"])
    generation = store.hget(keys.user(viewer.uid), "generation") or ""
    return f"Bearer {Tokens(store).issue(Code(viewer.uid, generation, app.id, app.scopes, OUT_OF_BAND))}"


def check_timeline(port: int, path: str, bearer: str, posts: int) -> int:
    """The size of a timeline for an app in bytes. Raises WrongAnswer unless it has `posts` posts."""
    with contextlib.closing(Visitor(port)) as visitor:
        answer = visitor.get(path, Authorization=bearer)
    if answer.status != 200 or len(json.loads(answer.page)) != posts:
        raise WrongAnswer(f"{path}: {answer.status}, {answer.page[:80]}")
    return len(answer.page.encode())


@dataclass(frozen=True)
class Answer:
    """A response. Redirects are not followed."""

    status: int
    page: str
    location: str
    seconds: float

    def field(self, name: str) -> str:
        """The value of a hidden field in any form of the page. Raises WrongAnswer when there is none."""
        found = re.search(rf'name="{name}" value="([^"]+)"', self.page)
        if found is None:
            raise WrongAnswer(f"{self.status}: no field {name}")
        return found[1]


class Visitor:
    """A browser with its cookies and its connection."""

    def __init__(self, port: int, cookies: dict[str, str] | None = None) -> None:
        self.cookies = dict(cookies or {})
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def get(self, path: str, **headers: str) -> Answer:
        return self._request("GET", path, None, headers)

    def post(self, path: str, **fields: str) -> Answer:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._request("POST", path, urlencode(fields).encode(), headers)

    def _request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        began = time.perf_counter()
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        page = response.read().decode()
        took = time.perf_counter() - began
        for line in response.headers.get_all("Set-Cookie", []):
            name, _, value = line.partition(";")[0].partition("=")
            if value.strip('"'):
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return Answer(response.status, page, response.headers.get("Location", ""), took)

    def close(self) -> None:
        self._connection.close()


def people(client: redis.Redis) -> dict[int, Viewer]:
    """All registered users by uid. Each has logged in, with a session of their own."""
    rng = random.Random(1)
    sessions = Sessions(Store(OneServer(client)))
    uids = [int(uid) for uid in client.hgetall(keys.users()).values()]
    pipe = client.pipeline(transaction=False)
    for uid in uids:
        pipe.hget(keys.user(uid), "username")
    found = {}
    for uid, username in zip(uids, pipe.execute(), strict=True):
        login = sessions.open(Verified(User(uid, username)), Device("Firefox", "Linux"))
        found[uid] = Viewer(uid, username, login.secret, "".join(rng.choices(CSRF_LETTERS, k=32)))
    return found


def check(port: int, path: str, viewer: Viewer | None, posts: int, names: Iterable[str] = ()) -> int:
    """The size of a page in bytes.

    Raises WrongAnswer unless it has `posts` posts, links to `names`, and a logout button when there is a viewer only.
    """
    with contextlib.closing(Visitor(port, viewer.cookies if viewer else None)) as visitor:
        answer = visitor.get(path)
    if answer.status != 200:
        raise WrongAnswer(f"{path}: {answer.status}")
    if answer.page.count("<article") != posts:
        raise WrongAnswer(f"{path}: {answer.page.count('<article')} posts instead of {posts}")
    if ('action="/logout/"' in answer.page) != (viewer is not None):
        raise WrongAnswer(f"{path}: the page is for a {'signed-out' if viewer else 'signed-in'} user")
    for name in (*names, *([viewer.name] if viewer else [])):
        if f'href="/@{name}/"' not in answer.page:
            raise WrongAnswer(f"{path}: no link to {name}")
    return len(answer.page.encode())
