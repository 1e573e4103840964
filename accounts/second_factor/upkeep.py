"""Second factors in the personal download and in the file of a whole site, and what `doctor` and `cleanup` look for."""

from collections.abc import Iterator, Sequence

from accounts.second_factor.repository import Factors, Passkey, ask_factors, is_secret, stored_passkey
from accounts.signing_in.factors import TOTP, use_of
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.checks import Check, Finding, Searcher, ids, rows
from retwis_site.maintenance.lines import ID, NUMBER, TEXT, TIME, seconds, uids_in_order
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import Writes
from retwis_site.store.client import Store, answer, answers
from retwis_site.store.ids import integer

# ---- The personal download: no secret, and no key.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """A line for the authenticator app and for each passkey. One round trip."""
    factors = answer(store, ask_factors, owner.uid)
    apps: list[Line] = [{"type": "authenticator", "since": iso(factors.totp.since)}] if factors.totp else []
    yield apps + [{"type": "passkey", "name": one.name, "since": iso(one.since)} for one in factors.passkeys]


# ---- The file of a whole site: it opens accounts, as the hashes of passwords in it do not.


SECRET = LineField(
    "the secret of an authenticator app, in base32", lambda value: isinstance(value, str) and is_secret(value)
)
BASE64URL = LineField(
    "a text in base64url",
    lambda value: isinstance(value, str) and value.replace("-", "a").replace("_", "a").isalnum() and value.isascii(),
)


def _factors(store: Store) -> Iterator[tuple[int, Factors]]:
    """The factors of all users, by uid. One round trip for each AT_ONCE users."""
    for uids in uids_in_order(store):
        yield from answers(store, ask_factors, uids).items()


def _read_totps(store: Store) -> Iterator[Line]:
    for uid, factors in _factors(store):
        if factors.totp:
            yield {"user": uid, "secret": factors.totp.secret, "since": iso(factors.totp.since)}


def _write_totps(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.credentials(line["user"]), {TOTP: f"{seconds(line, 'since')}:{line['secret']}"})


def _read_passkeys(store: Store) -> Iterator[Line]:
    for uid, factors in _factors(store):
        uses = [one.use for one in factors.passkeys]
        counters = store.zmscore(keys.factor_uses(uid), uses) if uses else []
        for one, counter in zip(factors.passkeys, counters, strict=True):
            yield {
                "user": uid,
                "id": one.id,
                "name": one.name,
                "key": one.key,
                "counter": integer(counter or 0),
                "since": iso(one.since),
            }


def _write_passkeys(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        passkey = Passkey(line["id"], line["name"], line["key"], seconds(line, "since"))
        writes.hset(keys.credentials(line["user"]), stored_passkey(passkey))
        if line["counter"]:
            writes.zadd(keys.factor_uses(line["user"]), {passkey.use: line["counter"]})


TOTPS = SiteLines(
    "totp",
    lambda line: {"user": ID, "secret": SECRET, "since": TIME},
    _read_totps,
    _write_totps,
    unique=("user",),
    users=("user",),
)
PASSKEYS = SiteLines(
    "passkey",
    lambda line: {
        "user": ID,
        "id": BASE64URL,
        "name": TEXT,
        "key": BASE64URL,
        "counter": NUMBER,
        "since": TIME,
    },
    _read_passkeys,
    _write_passkeys,
    users=("user",),
)


# ---- Checks


HOW = "one cannot be read; `manage.py user NAME --remove-second-factor` removes all"


class FactorChecks(Searcher):
    """Searches second factors, and what they have served."""

    def inconsistencies(self) -> list[Check]:
        return [Check("damaged second factors", (keys.credentials,), self._damaged)]

    def orphans(self) -> list[Check]:
        label = "uses of removed second factors"
        return [self._check_of(label, keys.factor_uses, self._left, "{key}", read=rows)]

    def _damaged(self, names: list[str]) -> Iterator[list[Finding]]:
        """Factors that cannot be read. No repair removes one: then the password alone would open the account."""
        found = answers(self._store, ask_factors, [uid for chunk in ids(self._store, names) for uid in chunk])
        yield [Finding(f"of user {uid}: {HOW}", None) for uid, factors in found.items() if factors.damaged]

    def _left(self, found: Sequence[tuple[int, str, float]]) -> list[tuple[int, str, float]]:
        """What factors have served that were removed meanwhile. Looked at twice: an app that is being added has taken
        its first code a moment before."""
        uids = dict.fromkeys(uid for uid, *_ in found)
        stored = answers(self._store, lambda pipe, uid: pipe.hgetall(keys.credentials(uid)), uids)
        known = {uid: {use_of(*field) for field in fields.items()} for uid, fields in stored.items()}
        return [one for one in found if one[1] not in known[one[0]]]
