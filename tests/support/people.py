"""Registering users, and the passwords and secrets that the tests use."""

from functools import cache
from typing import NamedTuple

from django.contrib.auth import authenticate
from django.contrib.auth.hashers import MD5PasswordHasher, make_password

from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import Registration
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Store

PASSWORD = "correct horse battery"
NEW_PASSWORD = "battery staple horse"
SECRET = "0123456789abcdef0123456789abcdef"
NEWER_SECRET = "fedcba9876543210fedcba9876543210"
LONG_AGO = 1_700_000_000
WEAK_PASSWORDS = [
    ("short1!", "too short"),
    ("password123", "too common"),
    ("x" * 129, "1 character too many."),
    ("a null \0 in it", "Null characters"),
]


class Login(NamedTuple):
    """A user, and what the cookie of a browser has."""

    user: User
    secret: str


def give_old_password(raw, uid: int, password: str = PASSWORD) -> str:
    """Give a user a salted MD5 of another Retwis instead of the site's own hash. Returns it."""
    encoded = MD5PasswordHasher().encode(password, "salt")
    raw.hset(f"user:{uid}", "old_password", encoded)
    raw.hdel(f"user:{uid}", "password")
    return encoded


@cache
def hashed_password() -> str:
    """PASSWORD as the site keeps it. A hash waits for a thread of low priority, and most tests register users."""
    return make_password(PASSWORD)


def log_in(store: Store, name: str = "alice", password: str = PASSWORD) -> Login | None:
    """A login with a session of its own; None for a wrong password."""
    verified = authenticate(None, username=name, password=password)
    return verified and Login(verified.user, Sessions(store).open(verified, Device("Firefox", "Linux")))


def signed_in(store: Store, login: Login) -> bool:
    """Whether a session stands."""
    return Viewer(store, login.secret).user.is_authenticated


def register(store: Store, username: str) -> Login:
    """With the official secret, which opens a session, too."""
    user = Registration(store).register(username, hashed_password())
    return Login(user, str(store.hget(keys.user(user.uid), "auth")))
