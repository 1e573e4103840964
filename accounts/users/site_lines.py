"""The lines about users in the file of a whole site."""

import time
from array import array
from collections.abc import Iterator, Mapping, Sequence

from django.contrib.auth.hashers import get_hasher, is_password_usable, make_password

from accounts.users.entities import User
from accounts.users.names import entries, queue_entries, queue_skeletons
from accounts.users.repository import ask_owner, new_secret
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.filling import ID, NAME, PASSWORD, TEXT, TIME, TIME_OR_NULL, seconds
from retwis_site.maintenance.site_files.exporting import CannotExport
from retwis_site.rendering.dates import iso
from retwis_site.store import keys, snowflake
from retwis_site.store.chunks import AT_ONCE, batches
from retwis_site.store.client import Store
from retwis_site.store.ids import integer, stored_ids, stored_time
from retwis_site.store.schema import is_hash

ABOUT = ("name", "bio", "language")
READ = ("username", "password", "old_password", *ABOUT, "deleted")
FIELDS = {"id": ID, "username": NAME, "password": PASSWORD, **dict.fromkeys(ABOUT, TEXT), "registered": TIME_OR_NULL}
FIELDS_OF_DELETED = {"id": ID, "username": NAME, "deleted": TIME}


def fields_of(line: Line) -> Mapping[str, LineField]:
    return FIELDS_OF_DELETED if "deleted" in line else FIELDS


def uids_in_order(store: Store) -> Iterator[list[int]]:
    """The uids of all users, deleted ones too, in ascending order: AT_ONCE in a chunk. They take 8 bytes each. One
    round trip for each AT_ONCE users, before the first chunk."""
    uids = array("q")
    for fields in store.hash_fields(keys.users(), AT_ONCE):
        uids.extend(stored_ids(keys.users(), [text for _, text in fields]))
    yield from batches(dict.fromkeys(sorted(uids)), AT_ONCE)


def read_users(store: Store) -> Iterator[list[Line]]:
    """A line for each user that a name leads to, by id. Two round trips a chunk. Raises CannotExport for a password in
    clear text."""
    for uids in uids_in_order(store):
        pipe = store.pipeline()
        asked = {uid: pipe.hmget(keys.user(uid), READ) for uid in uids}
        pipe.execute()
        stored = {uid: dict(zip(READ, fields.value, strict=True)) for uid, fields in asked.items()}
        named = {uid: fields["username"] for uid, fields in stored.items() if fields["username"]}
        owners = {uid: ask_owner(pipe, name) for uid, name in named.items()}
        registered = {uid: pipe.zscore(keys.users_by_time(), name) for uid, name in named.items()}
        pipe.execute()
        own = [uid for uid, owner in owners.items() if owner.value == uid]
        _refuse_clear_text([stored[uid] for uid in own])
        yield [_line(uid, stored[uid], registered[uid].value) for uid in own]


def _refuse_clear_text(users: Sequence[Mapping[str, str | None]]) -> None:
    """Raises CannotExport for a user whose password is no hash: everyone with the file could read it."""
    for fields in users:
        if fields["password"] and fields["deleted"] is None and not is_hash(fields["password"]):
            name = fields["username"]
            raise CannotExport(f"The password of {name} is in clear text. Run `manage.py changepassword {name}`.")


def _line(uid: int, fields: Mapping[str, str | None], registered: float | None) -> Line:
    line: Line = {"type": "user", "id": uid, "username": fields["username"]}
    deleted = fields["deleted"]
    if deleted is not None:
        return line | {"deleted": iso(stored_time(keys.user(uid), deleted))}
    line["password"] = fields["password"] or fields["old_password"]
    line |= {field: fields[field] or "" for field in ABOUT}
    return line | {"registered": None if registered is None else iso(integer(registered))}


def write_users(store: Store, lines: Sequence[Line]) -> None:
    """Write users with new session secrets: nobody stays signed in. One round trip."""
    pipe = store.pipeline()
    living = [line for line in lines if "deleted" not in line]
    secrets = {line["id"]: new_secret() for line in living}
    for line in lines:
        pipe.hset(keys.user(line["id"]), _stored(line, secrets))
    pipe.hset(keys.users(), {line["username"].lower(): str(line["id"]) for line in lines})
    for line in lines:  # the names of deleted accounts stay taken, and so do names that look like them
        queue_skeletons(pipe, User(line["id"], line["username"]))
    if living:
        pipe.hset(keys.auths(), {secret: str(uid) for uid, secret in secrets.items()})
        pipe.zadd(keys.users_by_time(), _registered(living))
        people = [User(line["id"], line["username"], line["name"]) for line in living]
        queue_entries(pipe, [entry for user in people for entry in entries(user)])
    pipe.execute()


def _stored(line: Line, secrets: Mapping[int, str]) -> dict[str, str]:
    """The hash of a user."""
    if "deleted" in line:
        return {"username": line["username"], "deleted": str(seconds(line, "deleted"))}
    stored = {"username": line["username"], "auth": secrets[line["id"]]} | _password(line["password"])
    return stored | {field: line[field] for field in ABOUT if line[field]}


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
    fields=fields_of,
    read=read_users,
    write=write_users,
    unique=("id", "username"),
    counter=keys.next_user_id,
)


# ---- The line about the account in the personal download.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """One line. One round trip."""
    pipe = store.pipeline()
    fields = pipe.hmget(keys.user(owner.uid), ["name", "bio", "language"])
    registered = pipe.zscore(keys.users_by_time(), owner.username)
    pipe.execute()
    name, bio, language = fields.value
    yield [
        {
            "type": "account",
            "id": owner.uid,
            "username": owner.username,
            "name": name or "",
            "bio": bio or "",
            "language": language or "",
            "registered": None if registered.value is None else iso(integer(registered.value)),
            "address": address_of("profile", owner.username),
        }
    ]
