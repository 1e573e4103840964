"""Apps, the codes with which they fetch tokens, and the tokens: who may do what for whom.

`app:<client_id>` is an app. It ends eight days after it came, unless it gets a token, and 400 days after a token was
last used. A code is a string that ends by itself; UNLINK takes it, and its reply tells one of two requests at once that
it was first. A token is one field of the user's hash (`accounts/signing_in/tokens.py`): the HSET that writes it is its
commit.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import NamedTuple

from django.core.signing import BadSignature, Signer
from django.utils.crypto import constant_time_compare

from accounts.signing_in.factors import ask_has_factor
from accounts.signing_in.tokens import OWN, TOKENS, Token, in_order, new_value
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users, new_secret_of
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.maintenance.checks import Check, Searcher, looking
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Repository, Store, answers, trip
from retwis_site.store.ids import digest_of, nonce

# Seconds of an app that gets no token: services register once for all their users, and the first may not allow it. Elk
# keeps what it has got for a week, and would lead everybody to an app that is gone. In this time a stranger can fill 30
# MB: 5 KB an app, thirty an hour.
UNUSED_LIVES = 8 * 24 * 3600
OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"  # instead of an address: a page shows the code, to be typed into the app


@dataclass(frozen=True, slots=True)
class App:
    """A program of somebody else. `secret`: the digest of its own."""

    id: str
    name: str
    website: str
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    secret: str = field(repr=False)
    generation: str = field(default="", repr=False)

    def has_secret(self, typed: str) -> bool:
        return constant_time_compare(self.secret, _digest(typed))


@dataclass(frozen=True, slots=True)
class Code:
    """What a user has allowed an app, until the app fetches its token. `challenge`: of PKCE, S256; empty without."""

    uid: int
    generation: str = field(repr=False)
    app: str
    scopes: tuple[str, ...]
    redirect_uri: str
    challenge: str = ""
    codes_ended: str = field(default="", repr=False)  # the field of the user, as read with the consent


class Granting(NamedTuple):
    """A user who allows an app something, with what is read of them then: a token counts while it stays so."""

    uid: int
    generation: str
    codes_ended: str


class Apps(Repository):
    """All apps."""

    def register(
        self, name: str, website: str, redirect_uris: Sequence[str], scopes: Collection[str]
    ) -> tuple[App, str]:
        """A new app, and its secret. Two round trips: the HSET is the commit, and `doctor` finds a key that is left
        without an expiry."""
        secret = secrets.token_urlsafe(32)
        granted = tuple(in_order(scopes))
        app = App(secrets.token_urlsafe(24), name, website, tuple(redirect_uris), granted, _digest(secret))
        fields = {
            "name": name,
            "website": website,
            "redirect_uris": "\n".join(redirect_uris),
            "scopes": " ".join(granted),
            "secret": app.secret,
            "since": str(int(time.time())),
        }
        self._store.hset(keys.app(app.id), fields)
        self._store.expire(keys.app(app.id), UNUSED_LIVES)
        return app, secret

    def find(self, id_: str) -> App | None:
        """None for an unknown app, or one that has ended. One round trip."""
        return self.find_all([id_]).get(id_)

    def find_all(self, ids: Collection[str]) -> dict[str, App]:
        """Those that there are, by id. At most one round trip."""
        found = answers(self._store, lambda pipe, id_: pipe.hgetall(keys.app(id_)), ids)
        return {id_: app_of(id_, fields) for id_, fields in found.items() if "secret" in fields}

    def end_own_tokens(self, app: App) -> None:
        """End the tokens of an app that are no user's. One round trip; one more for an app that ends now, which may be
        left as a key without an expiry."""
        with self._store.pipeline() as pipe:
            pipe.hset(keys.app(app.id), {"generation": nonce()})
            seconds = pipe.ttl(keys.app(app.id))
        if seconds.value < 0:
            self._store.expire(keys.app(app.id), keys.app.lives)

    def of_own_token(self, token: str) -> tuple[App, tuple[str, ...]] | None:
        """The app whose token for no user this is, and its scopes; None for any other token. At most one round trip."""
        id_, scopes, generation = read_own_token(token)
        app = self.find(id_) if id_ else None
        return (app, scopes) if app is not None and app.generation == generation else None


def app_of(id_: str, fields: Mapping[str, str]) -> App:
    return App(
        id_,
        fields.get("name", ""),
        fields.get("website", ""),
        tuple(fields.get("redirect_uris", "").split("\n")),
        tuple(in_order(fields.get("scopes", "").split())),
        fields.get("secret", ""),
        fields.get("generation", ""),
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


# ---- Tokens of an app for no user: signed, and stored nowhere. So an app that asks for many costs no memory.


_signer = partial(Signer, salt="accounts.apps", sep=OWN)


def own_token(app: App, scopes: Collection[str]) -> str:
    return _signer().sign_object([app.id, " ".join(in_order(scopes)), app.generation])


def read_own_token(token: str) -> tuple[str, tuple[str, ...], str]:
    """The id of the app, the scopes and the generation; an empty id for what is no such token. No round trip."""
    try:
        id_, scopes, generation = _signer().unsign_object(token)
    except (BadSignature, ValueError):
        return "", (), ""
    return id_, tuple(scopes.split()), generation


# ---- Codes and tokens of users


class Tokens(Repository):
    """The tokens of all users."""

    def new_code(self, code: Code) -> str:
        """The text of a code, 43 characters. One round trip."""
        text = secrets.token_urlsafe(32)
        self._store.set_ex(keys.code(digest_of(text)), json.dumps(asdict(code)), keys.code.lives)
        return text

    def take_code(self, text: str) -> Code | None:
        """Take a code, for one request alone; None when it was used, has ended or never was. A code that comes again
        ends the token that it gave, since somebody has copied it. Two round trips."""
        digest = digest_of(text)
        with self._store.pipeline() as pipe:
            code, spent = pipe.get(keys.code(digest)), pipe.get(keys.spent_code(digest))
        if spent.value is not None:
            uid, _, token = spent.value.partition(":")
            self.end(int(uid), [token])
        if code.value is None or not self._store.unlink(keys.code(digest)):
            return None
        found = json.loads(code.value)
        return Code(**{**found, "scopes": tuple(found["scopes"])})

    def note_token(self, text: str, uid: int, token: str) -> None:
        """Keep which token a code has given, for as long as the code itself. One round trip. It has a key of its own: a
        request that has read the code must not take what is noted for it."""
        self._store.set_ex(keys.spent_code(digest_of(text)), f"{uid}:{digest_of(token)}", keys.spent_code.lives)

    def find(self, uid: int, digest: str) -> Token | None:
        """A token of this user that stands. One round trip."""
        return TOKENS.standing(digest, *self._store.hmget(keys.user(uid), TOKENS.asked(digest)))

    def issue(self, code: Code) -> str:
        """A token for what the user has allowed. One round trip; two more when others have ended or are too many, for a
        deleted account, and for a code that has ended.

        The token has the generation that was read with the user's consent. So one that a password change came before
        has ended when it begins; and so has that of a code from before the user has ended apps (`end_some`).
        """
        token = new_secret_of(code.uid)
        digest = digest_of(token)
        user = keys.user(code.uid)
        with self._store.pipeline() as pipe:
            pipe.hset(user, {TOKENS.field(digest): new_value(code.app, code.scopes, code.generation)})
            stored = pipe.hgetall(user)
            pipe.expire(keys.app(code.app), keys.app.lives)
        if "deleted" in stored.value:
            Users(self._store).take_back(code.uid, [TOKENS.field(digest)])
        elif stored.value.get("codes_ended", "") != code.codes_ended:  # read after the write
            self.end(code.uid, [digest])
        else:
            self.end(code.uid, {*TOKENS.ended_in(stored.value), *TOKENS.too_many_in(stored.value, kept=digest)})
        return token

    def end_some(self, uid: int, is_ended: Callable[[Token], bool]) -> None:
        """End those of a user's tokens of which this is true, and all codes that have given no token yet, also of other
        apps: these ask the user once more. Two round trips; three for a deleted account. The tokens are read after the
        mark: one that begins meanwhile is among them, or finds the mark."""
        user = keys.user(uid)
        with self._store.pipeline() as pipe:
            pipe.hset(user, {"codes_ended": nonce()})
            stored = pipe.hgetall(user)
        if "deleted" in stored.value:
            Users(self._store).take_back(uid, ["codes_ended"])
        self.end(uid, [token.digest for token in TOKENS.standing_in(stored.value).values() if is_ended(token)])

    def end(self, uid: int, digests: Collection[str]) -> None:
        """End these tokens, and remove what is left of those that have ended. At most one round trip: the HDEL of the
        first field is the commit, and the other says nothing alone."""
        fields = [f"{beginning}{digest}" for digest in digests for beginning in (TOKENS.first, TOKENS.second)]
        Users(self._store).take_back(uid, fields)


def granting_of(viewer: Viewer) -> tuple[User, Granting, bool]:
    """The signed-in user, the same for a code of an app, and whether they have a second factor. Round trips as for
    `Viewer.ask`. Raises NotSignedIn."""
    fields = ["generation", "codes_ended"]
    me, (read, has_factor) = viewer.ask_as_user(
        lambda pipe, me: trip(pipe.hmget(keys.user(me), fields), ask_has_factor(pipe, me))
    )
    generation, codes_ended = [text or "" for text in read]
    return me, Granting(me.uid, generation, codes_ended), has_factor


# ---- Checks


class TokenChecks(Searcher):
    """What `cleanup` removes."""

    def orphans(self) -> list[Check]:
        return [
            self._check_of(
                "fields of ended tokens",
                keys.user,
                looking(self._store, TOKENS.ask_ended),
                "ended tokens of user {0}",
                lambda uid: Tokens(self._store).end(uid, TOKENS.ended_in(self._store.hgetall(keys.user(uid)))),
            )
        ]


# ---- The lines about apps in the personal download.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """A line for each token; the most recently used first. Two round trips."""
    found = TOKENS.standing_in(store.hgetall(keys.user(owner.uid))).values()
    apps = Apps(store).find_all({token.app for token in found})
    yield [
        {
            "type": "app",
            "name": apps[token.app].name if token.app in apps else "",
            "website": apps[token.app].website if token.app in apps else "",
            "scopes": list(token.scopes),
            "since": iso(token.since),
            "used": iso(token.used),
        }
        for token in found
    ]
