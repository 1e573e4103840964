"""The tokens of apps, as fields of the user's hash, and what each scope covers.

`token:<digest>` is `<since>:<generation>:<app>:<scopes>`: as a session, a token stands while its generation is the
user's own. So one HSET, which changes that field, ends all of them. The user's hash alone decides: there is no second
place that could lead to a token. `token_used:<digest>` is the hour of the last use. A token that is used keeps its app;
one that nobody has used for so long that its app may be gone has ended, too.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.signing_in.sessions.entities import FieldPairs
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result
from retwis_site.store.rate_limits import Limit

# ---- Scopes: https://docs.joinmastodon.org/api/oauth-scopes/

# Each says what an app may do: on the page on which a user allows it, and in the settings.
SCOPES: Mapping[str, Promise] = {
    "read": _("Read everything that you can read here, also your notifications and bookmarks"),
    "read:accounts": _("See your account and other people's"),
    "read:blocks": _("See whom you block"),
    "read:bookmarks": _("See your bookmarks"),
    "read:favourites": _("See what you like"),
    "read:filters": _("See your muted words"),
    "read:follows": _("See whom you follow"),
    "read:lists": _("See your lists"),
    "read:mutes": _("See whom you mute"),
    "read:notifications": _("See your notifications"),
    "read:statuses": _("Read the posts that you can read"),
    "read:search": _("Search for you"),
    "write": _("Do everything that you can do here: write and delete posts, follow, like, change your profile"),
    "write:accounts": _("Change your profile"),
    "write:blocks": _("Block people"),
    "write:bookmarks": _("Keep and remove bookmarks"),
    "write:favourites": _("Like posts"),
    "write:filters": _("Change your muted words"),
    "write:follows": _("Follow people"),
    "write:lists": _("Change your lists"),
    "write:mutes": _("Mute people and threads"),
    "write:notifications": _("Clear your notifications"),
    "write:statuses": _("Write and delete posts"),
    "write:conversations": _("Change your conversations"),
    "write:media": _("Upload pictures"),
    "write:reports": _("Report people"),
    "follow": _("Follow, mute and block people"),
    "push": _("Receive your notifications at once"),
    "profile": _("See your name and your profile"),
}
_ALSO_COVERED = {  # beside `read:...` by `read`, and `write:...` by `write`
    "follow": {f"{verb}:{thing}" for verb in ("read", "write") for thing in ("blocks", "follows", "mutes")},
    "read": {"profile"},
    "read:accounts": {"profile"},
}
DEFAULT_SCOPES = ("read",)  # of an app that asks for none
OUT_OF_SCOPE = "This action is outside the authorized scopes"  # for an app whose token lacks one


def covers(granted: Iterable[str], needed: str) -> bool:
    """Whether one of the granted scopes is the needed one, or covers it."""
    parent = needed.partition(":")[0]
    return any(scope in (needed, parent) or needed in _ALSO_COVERED.get(scope, ()) for scope in granted)


def in_order(scopes: Collection[str]) -> list[str]:
    """The scopes that there are among these, in the order of the documentation."""
    return [scope for scope in SCOPES if scope in scopes]


def in_words(scopes: Collection[str]) -> list[Promise]:
    """A sentence for each of these known scopes, without those that another one covers."""
    known = {scope: scope.partition(":")[0] for scope in scopes}
    return [SCOPES[scope] for scope, parent in known.items() if parent == scope or parent not in known]


# ---- Tokens


MOST_TOKENS = 50  # of a user; another one ends that which was used least recently


class Token(NamedTuple):
    """What an app may do for a user. Times are unix seconds."""

    digest: str  # of the token (`digest_of`), which is stored nowhere
    since: int
    used: int  # to the hour
    app: str
    scopes: tuple[str, ...]


OWN = "~"  # in a token of an app for no user; no other has it


# ---- How often an app may ask for one user. Windows begin at fixed times, as Mastodon's do: one number each, which
# costs two commands of the round trip that checks the token.


CALLS = Limit("call", 300, 300, "calls of an app", _("Too many requests from this app in a short time."))


class Calls(NamedTuple):
    """How often a token was used in the present window."""

    times: int
    ends: int  # unix seconds

    @property
    def left(self) -> int:
        return max(CALLS.allowed - self.times, 0)


def ask_count(pipe: Pipe, digest: str) -> Result[Calls]:
    """Counts a call. A window in which only one command of the two arrived is found by `doctor`."""
    window = int(time.time()) // CALLS.seconds
    key = keys.calls(digest, window)
    times = pipe.incr(key)
    pipe.expire(key, keys.calls.lives)
    return Result(lambda: Calls(times.value, (window + 1) * CALLS.seconds))


# ---- The fields of a token


def new_value(app: str, scopes: Collection[str], generation: str) -> str:
    """The field of a token that begins now."""
    return f"{int(time.time())}:{generation}:{app}:{' '.join(in_order(scopes))}"


@lru_cache(maxsize=500)
def _scopes_in(text: str) -> tuple[str, ...]:
    """The scopes in the field of a token."""
    return tuple(in_order(text.split()))


def _token(digest: str, since: int, used: int, app: str, scopes: str) -> Token | None:
    """None when nobody has used it for as long as its app lives without a use."""
    if time.time() - used > keys.app.lives:
        return None
    return Token(digest, since, used, app, _scopes_in(scopes))


TOKENS = FieldPairs("token:", "token_used:", MOST_TOKENS, _token)
