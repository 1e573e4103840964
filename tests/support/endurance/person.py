"""A person of the soak: a browser, an account, and what the site has acknowledged.

Each answer is checked: it must be one that fits, and a page must be this person's own. A form is sent again until the
site has answered it, as a person would do. What was acknowledged must be in the store at the end (ledger.py)."""

import http.client
import random
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

from tests.support.endurance.disturbances import Disturbances
from tests.support.http.http_browser import Answer, StayingBrowser
from tests.support.people import PASSWORD

FITTING = {200, 204, 302, 403, 404, 410, 422}
OWNER = re.compile(r'class="me" href="/@([^/"]+)/"')
PRIVATE = re.compile(r"privateof([a-z0-9]+)x")  # words that only their owner may see
POSTS = re.compile(r'"/@(\w+)/(\d+)/(?:un)?like/"')
PATIENCE = 180.0  # seconds until a form must be answered
STAFF = 2  # the first people: an admin and a moderator
ADDRESSES = 4  # client addresses of the people
SEEN = 60  # posts that a person remembers


@dataclass(frozen=True)
class Sent:
    """The answer to a form. `is_first`: it came to the first try, so nothing else has happened to the form."""

    status: int
    location: str
    page: str
    is_first: bool

    @property
    def ok(self):
        return self.status == 302 and urlsplit(self.location).path != "/login/"


class Invited(NamedTuple):
    """By whom, and with which code. Not sure: the site is open, and lets people in without an invitation that is none,
    as that of a suspended person, or whose use an earlier try has that died."""

    by: str
    code: str
    is_sure: bool


@dataclass
class Account:
    """What the site has acknowledged to an account. A post is named by its token, or later by its id; an edge by the
    key of its truth and its target: True, False, or None when that is not known."""

    name: str
    passwords: list[str] = field(default_factory=lambda: [PASSWORD])  # the last one holds; several: one of them
    texts: dict[str, str] = field(default_factory=dict)  # by token
    maybe: set[str] = field(default_factory=set)  # tokens of forms whose fate is not known
    edited: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)  # posts that may be edited or gone
    edges: dict[tuple[str, str], bool | None] = field(default_factory=dict)
    fields: dict[str, str | None] = field(default_factory=dict)  # of the user's hash
    reports: set[tuple[str, str]] = field(default_factory=set)
    invitations: dict[str, bool | None] = field(default_factory=dict)  # by code: whether it stands
    invited: Invited | None = None
    codes: list[str] | None = field(default_factory=list)  # for recovery, those that are left; None: not known


@dataclass
class Crowd:
    """All people of a site, and what they have in common."""

    port: int
    seed: int
    disturbances: Disturbances
    names: set[str] = field(default_factory=set)  # accounts that stand
    left: set[str] = field(default_factory=set)  # deleted ones
    troubled: list[str] = field(default_factory=list)  # against whom staff may act
    blocked: set[tuple[str, str]] = field(default_factory=set)  # who has ever blocked whom
    accounts: list[Account] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    announcement: str | None = ""  # the last one; None: one of several
    announced: int = 0  # how many announcements were acknowledged
    deeds: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)


class Person:
    """Someone with a browser. `is_troubled`: staff may act against them, so that any of their forms may be refused."""

    def __init__(self, number: int, crowd: Crowd, is_troubled: bool):
        self.random = random.Random(f"{crowd.seed}/{number}")
        self.number = number
        self.crowd = crowd
        self.is_troubled = is_troubled
        self.lives = 0
        self.guests = 0  # newcomers with an invitation of this person
        self.seen: dict[tuple[str, str], None] = {}  # posts: author and id
        self.errors: list[str] = []
        self.begin_a_life()

    def begin_a_life(self):
        """A new account, which is not registered yet, in a new browser."""
        self.lives += 1
        self.browser = self.new_browser()
        self.account = Account(f"p{self.number}n{self.lives}")
        self.crowd.accounts.append(self.account)
        self.is_in: bool | None = False  # whether this browser is signed in; None: not known

    def new_browser(self):
        return StayingBrowser(self.crowd.port, f"127.0.0.{2 + self.number % ADDRESSES}")

    @property
    def name(self):
        return self.account.name

    @property
    def is_staff(self):
        return self.number < STAFF

    # ---- requests

    def get(self, path, browser=None) -> Answer:
        """The page, however often it must be asked for."""
        return self._until_answered(path, None, browser or self.browser)[0]

    def send(self, path, browser=None, **fields) -> Sent:
        """Send a form until it is answered."""
        browser = browser or self.browser
        if browser.cookie(settings.CSRF_COOKIE_NAME) is None:
            self.get("/login/", browser)
        form = {"csrfmiddlewaretoken": browser.cookie(settings.CSRF_COOKIE_NAME), **fields}
        answer, tries = self._until_answered(path, form, browser)
        return Sent(answer.status, answer.headers.get("Location", ""), answer.page, tries == 1)

    def _until_answered(self, path, form, browser):
        until, tries = time.monotonic() + PATIENCE, 0
        while True:
            tries += 1
            answer = self._ask(path, form, browser)
            if answer is not None:
                return answer, tries
            assert time.monotonic() < until, f"{path}: no answer within {PATIENCE} s"
            self.crowd.stop.wait(min(0.1 * tries, 1.0))  # a person does not click at once, and loses patience

    def _ask(self, path, form, browser):
        """One request; None when it was lost with a killed worker, or came while the store was down."""
        began = time.monotonic()
        try:
            answer = browser.ask(path, form)
        except (OSError, http.client.HTTPException) as error:
            self.crowd.statuses["lost"] += 1
            if self.crowd.disturbances.excuse_loss(began):
                return None
            raise AssertionError(f"{path}: {error!r} without a killed worker") from error
        self.crowd.statuses[str(answer.status)] += 1
        if answer.status == 503:
            assert answer.headers["Retry-After"], path
            assert self.crowd.disturbances.excuse_503(began), f"{path}: 503 while the store was up"
            return None
        assert answer.status in FITTING, f"{path}: {answer.status}"
        self._look_at(path, answer, browser)
        return answer

    def _look_at(self, path, answer, browser):
        """It is this person's page, and has nothing of another one."""
        others = set(PRIVATE.findall(answer.page)) - {self.name}
        assert not others or self.is_staff, f"{path}: private words of {others} were shown to {self.name}"
        if answer.status != 200 or not answer.page.startswith("<!doctype"):
            return
        owners = set(OWNER.findall(answer.page))
        assert owners <= {self.name}, f"{path}: a page of {owners} was shown to {self.name}"
        is_known = browser is self.browser and self.is_in is not None and not self.is_troubled
        assert not is_known or bool(owners) == self.is_in, f"{path}: signed in should be {self.is_in}, is {owners}"
        for post in POSTS.findall(answer.page):
            self.seen[post] = None
        while len(self.seen) > SEEN:
            del self.seen[next(iter(self.seen))]

    # ---- the account

    def register(self):
        self.is_in = None
        fields = {"username": self.name, "password1": PASSWORD, "password2": PASSWORD}
        sent = self.send("/register/", **fields)
        if not sent.ok:
            assert not sent.is_first, sent
            self.sign_in()
        self.is_in = True
        self.crowd.names.add(self.name)

    def sign_in(self, browser=None) -> bool:
        """Log in with the password, or with each that may hold. Returns False when none does."""
        is_mine = browser is None
        if is_mine:
            self.is_in = None
        for password in reversed(self.account.passwords):
            sent = self.send("/login/", browser, username=self.name, password=password)
            if sent.ok:
                self.account.passwords = [password]
                self.is_in = True if is_mine else self.is_in
                return True
        return False

    def note(self, relation, target, sent, stands):
        """What a form has made of an edge."""
        if sent.ok:
            self.account.edges[relation, target] = stands
        elif not sent.is_first:
            self.account.edges[relation, target] = None

    # ---- choices

    def someone(self):
        """The name of another person."""
        return self.random.choice(sorted(self.crowd.names - {self.name}) or [self.name])

    def some_post(self):
        """Author and id of a post that was seen; None before the first one."""
        return self.random.choice(list(self.seen)) if self.seen else None

    def hex(self):
        return f"{self.random.getrandbits(48):012x}"
