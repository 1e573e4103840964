"""The newest users, and who has invited them."""

from typing import NamedTuple

from accounts.users.repository import Users, ask_owners
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number, stored_names

MOST = 50
LOOKED_AT = 200  # of the newest users, when a page names whom one person has invited


class Newcomer(NamedTuple):
    username: str
    invited_by: str  # a username; empty for the operator


def newcomers(store: Store) -> list[Newcomer]:
    """Those of the newest MOST users who were invited, newest first. Four round trips. An inviter whose account is gone
    counts as the operator."""
    by = _inviters(store, MOST)
    people = Users(store).people({uid for uid in by.values() if uid})
    return [Newcomer(name, people[uid].username if uid in people else "") for name, uid in by.items()]


def invited_by(store: Store, uid: int) -> list[str]:
    """The usernames of those of the newest LOOKED_AT users whom this user has invited, newest first. Three round
    trips."""
    return [name for name, by in _inviters(store, LOOKED_AT).items() if by == uid]


def _inviters(store: Store, number: int) -> dict[str, int]:
    """By username, newest first, who has invited those of the newest users who were invited; 0: the operator."""
    names = stored_names(keys.users_by_time(), store.zrevrange(keys.users_by_time(), 0, number - 1))
    if not names:
        return {}
    pipe = store.pipeline()
    owners = ask_owners(pipe, names)
    pipe.execute()
    asked = {name: pipe.hget(keys.user(uid), "invited_by") for name, uid in owners.value.items()}
    pipe.execute()
    return {name: parse_number(field.value) or 0 for name, field in asked.items() if field.value is not None}
