"""Which Retwis made these accounts."""

from django.contrib.auth.hashers import identify_hasher, is_password_usable

from retwis_site.maintenance.checks import ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store


def is_foreign(store: Store) -> bool:
    """Whether somebody who can be found by name has a password that is no Django hash: the official Retwis keeps them
    as typed. Two round trips for each 500 users."""
    for batch in ids_of(store, "user:*"):
        pipe = store.pipeline()
        for uid in batch:
            pipe.hmget(keys.user(uid), ["username", "password"])
        accounts = list(zip(batch, pipe.execute(), strict=True))
        strange = [(uid, name) for uid, (name, password) in accounts if name and password and not _hashed(password)]
        for _, name in strange:
            pipe.hmget(keys.users(), [name, name.lower()])
        if any(str(uid) in found for (uid, _), found in zip(strange, pipe.execute(), strict=True)):
            return True
    return False


def _hashed(password: str) -> bool:
    """Whether Django made it: a hash of one of PASSWORD_HASHERS, or the mark of an account without a password."""
    try:
        identify_hasher(password)
    except ValueError:
        return not is_password_usable(password)
    return True


def foreign_database_notice(store: Store) -> list[str]:
    """What to say about a foreign database."""
    if not is_foreign(store):
        return []
    return ["Another Retwis made these accounts: posts are left alone until the database is adopted."]
