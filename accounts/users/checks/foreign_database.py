"""Recognizes a foreign database: its accounts were made by another Retwis."""

from django.contrib.auth.hashers import identify_hasher, is_password_usable

from accounts.users.repository import spellings
from retwis_site.maintenance.checks import ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store


def is_foreign(store: Store) -> bool:
    """Whether a user that a name leads to has a password that is no Django hash. The official Retwis keeps passwords as
    typed. Two round trips for each 500 users."""
    for batch in ids_of(store, "user:*"):
        pipe = store.pipeline()
        accounts = [(uid, pipe.hmget(keys.user(uid), ["username", "password"])) for uid in batch]
        pipe.execute()
        named = [(uid, name) for uid, fields in accounts if (name := _foreign_name(*fields.value))]
        numbers = [(uid, pipe.hmget(keys.users(), spellings(name))) for uid, name in named]
        pipe.execute()
        if any(str(uid) in found.value for uid, found in numbers):
            return True
    return False


def _foreign_name(name: str | None, password: str | None) -> str | None:
    """The name of an account that another Retwis has made; None for any other."""
    return name if name and password and not _hashed(password) else None


def _hashed(password: str) -> bool:
    """Whether Django made it: a hash of one of PASSWORD_HASHERS, or Django's value for an unusable password."""
    try:
        identify_hasher(password)
    except ValueError:
        return not is_password_usable(password)
    return True


def foreign_database_notice(store: Store) -> list[str]:
    """A sentence about a foreign database, for `cleanup`; none for this site's own."""
    if not is_foreign(store):
        return []
    return ["Another Retwis made these accounts. Posts are left alone until the database is adopted."]
