"""Browsers that measure: signed in, on one connection that stays, sending forms with the tokens of the page."""

import http.client
import random
import re
import string
import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

import redis
from django.conf import settings

from retwis_site.store import keys

POSTS_A_PAGE = 20
ANSWERS_WITHIN = 60.0
CSRF_LETTERS = string.ascii_letters + string.digits


class WrongAnswer(Exception):
    """A page that is not what was to be measured."""


@dataclass(frozen=True)
class Viewer:
    """Somebody who is signed in."""

    uid: int
    name: str
    secret: str
    csrf: str  # what a page's form may hold as well as a masked one

    @property
    def cookies(self) -> dict[str, str]:
        return {str(settings.AUTH_COOKIE): self.secret, str(settings.CSRF_COOKIE_NAME): self.csrf}

    @property
    def header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())


@dataclass(frozen=True)
class Answer:
    """What came back, without following it anywhere."""

    status: int
    page: str
    location: str
    seconds: float

    def field(self, name: str) -> str:
        """A hidden field of the page, of any of its forms."""
        found = re.search(rf'name="{name}" value="([^"]+)"', self.page)
        if found is None:
            raise WrongAnswer(f"{self.status}: no field {name}")
        return found[1]


class Visitor:
    """One browser."""

    def __init__(self, port: int, cookies: dict[str, str] | None = None) -> None:
        self.cookies = dict(cookies or {})
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWERS_WITHIN)

    def get(self, path: str) -> Answer:
        return self._ask("GET", path, None, {})

    def post(self, path: str, **fields: str) -> Answer:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._ask("POST", path, urlencode(fields).encode(), headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
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
    """All who are registered, by their uid."""
    rng = random.Random(1)
    names = {str(name): str(uid) for name, uid in client.hgetall(keys.users()).items()}
    secrets = {str(uid): str(secret) for secret, uid in client.hgetall(keys.auths()).items()}
    pipe = client.pipeline(transaction=False)
    for uid in names.values():
        pipe.hget(keys.user(int(uid)), "username")
    typed = dict(zip(names.values(), pipe.execute(), strict=True))
    return {
        int(uid): Viewer(int(uid), typed[uid], secrets[uid], "".join(rng.choices(CSRF_LETTERS, k=32)))
        for uid in names.values()
    }


def check(port: int, path: str, viewer: Viewer | None, posts: int, names: Iterable[str] = ()) -> int:
    """The size of a page that is what it should be: so many posts, signed in or not, these people named."""
    visitor = Visitor(port, viewer.cookies if viewer else None)
    try:
        answer = visitor.get(path)
    finally:
        visitor.close()
    if answer.status != 200:
        raise WrongAnswer(f"{path}: {answer.status}")
    if answer.page.count("<article") != posts:
        raise WrongAnswer(f"{path}: {answer.page.count('<article')} posts instead of {posts}")
    if ('action="/logout/"' in answer.page) != (viewer is not None):
        raise WrongAnswer(f"{path}: signed in or not, it should be the other way round")
    for name in (*names, *([viewer.name] if viewer else [])):
        if f'href="/@{name}/"' not in answer.page:
            raise WrongAnswer(f"{path}: {name} is not on it")
    return len(answer.page.encode())
