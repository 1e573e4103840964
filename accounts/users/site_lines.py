"""The lines about users in the file of a whole site."""

import time
from collections.abc import Iterator, Mapping, Sequence

from django.contrib.auth.hashers import get_hasher, is_password_usable, make_password

from accounts.users.entities import User
from accounts.users.names import entries, queue_skeletons
from accounts.users.repository import HASHES, ask_owner, hash_that_counts, new_secret
from retwis_site.exceptions import NotDone
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance.lines import ID, NAME, PASSWORD, TEXT, TIME, TIME_OR_NULL, fields_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys, snowflake
from retwis_site.store.chunks import Writes
from retwis_site.store.client import Store
from retwis_site.store.ids import integer, stored_time
from retwis_site.store.schema import is_hash

ABOUT = ("name", "bio", "language")
READ = ("username", *HASHES, *ABOUT, "deleted")
FIELDS = {"id": ID, "username": NAME, "password": PASSWORD, **dict.fromkeys(ABOUT, TEXT), "registered": TIME_OR_NULL}
FIELDS_OF_DELETED = {"id": ID, "username": NAME, "deleted": TIME}


def read_users(store: Store) -> Iterator[Line]:
    """A line for each user that a name leads to, by id. Two round trips for each AT_ONCE users. Raises NotDone for
    a password in clear text."""
    for users in fields_of_users(store, READ):
        stored = {uid: dict(zip(READ, fields, strict=True)) for uid, fields in users}
        named = {uid: fields["username"] for uid, fields in stored.items() if fields["username"]}
        pipe = store.pipeline()
        owners = {uid: ask_owner(pipe, name) for uid, name in named.items()}
        registered = {uid: pipe.zscore(keys.users_by_time(), name) for uid, name in named.items()}
        pipe.execute()
        for uid in (uid for uid, owner in owners.items() if owner.value == uid):
            yield _line(uid, stored[uid], registered[uid].value)


def _line(uid: int, fields: Mapping[str, str | None], registered: float | None) -> Line:
    name, password, deleted = fields["username"], fields["password"], fields["deleted"]
    line: Line = {"id": uid, "username": name}
    if deleted is not None:
        return line | {"deleted": iso(stored_time(keys.user(uid), deleted))}
    if password and not is_hash(password):  # everyone with the file could read it
        raise NotDone(f"The password of {name} is in clear text. Run `manage.py changepassword {name}`.")
    line["password"] = hash_that_counts(password or None, fields["prepared_password"], fields["old_password"])
    line |= {field: fields[field] or "" for field in ABOUT}
    return line | {"registered": None if registered is None else iso(integer(registered))}


def write_users(writes: Writes, lines: Sequence[Line]) -> None:
    """Users with new session secrets: nobody stays signed in."""
    for line in lines:
        uid, username = line["id"], line["username"]
        writes.hset(keys.users(), {username.lower(): str(uid)})
        queue_skeletons(writes.pipe, User(uid, username))  # also of deleted accounts: their names stay taken
        if "deleted" in line:
            writes.hset(keys.user(uid), {"username": username, "deleted": str(seconds(line, "deleted"))})
            continue
        secret = new_secret()
        about = {field: line[field] for field in ABOUT if line[field]}
        writes.hset(keys.user(uid), {"username": username, "auth": secret, **_password(line["password"]), **about})
        writes.hset(keys.auths(), {secret: str(uid)})
        writes.zadd(keys.users_by_name(), dict.fromkeys(entries(User(uid, username, line["name"])), 0))
    writes.zadd(keys.users_by_time(), _registered([line for line in lines if "deleted" not in line]))


def _password(encoded: str | None) -> dict[str, str]:
    """The field of a hash: `old_password` when another hasher made it than the one for new passwords. Without a hash,
    only `changepassword` can give the account a password."""
    if encoded is None:
        return {"password": make_password(None)}
    is_present = not is_password_usable(encoded) or encoded.partition("$")[0] == get_hasher().algorithm
    return {"password" if is_present else "old_password": encoded}


def _registered(lines: Sequence[Line]) -> dict[str, float]:
    """When these users registered, by name. Where it is not known, it is the date of the user before, roughly."""
    known = [seconds(line, "registered") for line in lines if line["registered"] is not None]
    last = known[0] if known else int(time.time())
    dates: dict[str, float] = {}
    for line in lines:
        if line["registered"] is not None:
            last = seconds(line, "registered")
        dates[line["username"]] = last if line["registered"] else snowflake.made_at(line["id"]) or last
    return dates


USERS = SiteLines(
    type="user",
    fields=lambda line: FIELDS_OF_DELETED if "deleted" in line else FIELDS,
    read=read_users,
    write=write_users,
    unique=("id", "username"),
    counter=keys.next_user_id,
)


# ---- The line about the account in the personal download.


DOWNLOADED = (*ABOUT, "colour", "picture", "header", "needs_alt")


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """One line. One round trip."""
    pipe, key = store.pipeline(), keys.user(owner.uid)
    fields = pipe.hmget(key, DOWNLOADED)
    registered = pipe.zscore(keys.users_by_time(), owner.username)
    pipe.execute()
    told = {name: text or "" for name, text in zip(DOWNLOADED, fields.value, strict=True)}
    yield [
        {
            "type": "account",
            "id": owner.uid,
            "username": owner.username,
            **told,
            "needs_alt": iso(stored_time(key, told["needs_alt"])) if told["needs_alt"] else "",
            "registered": None if registered.value is None else iso(integer(registered.value)),
            "address": address_of("profile", owner.username),
        }
    ]
