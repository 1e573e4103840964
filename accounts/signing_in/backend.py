"""Signing in with a username and a password: a Django authentication backend on Redis."""

import logging

from argon2.exceptions import Argon2Error
from django.contrib.auth.hashers import check_password, make_password
from django.http import HttpRequest

from accounts.joining.applications import Applications
from accounts.signing_in.feature import ATTEMPTS, LOGINS, login_subject
from accounts.signing_in.sessions.repository import Sessions, StoredPassword
from accounts.users.entities import SuspendedLogin, User, Verified
from accounts.users.repository import Users
from retwis_site.http.client_ip import client_address
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits

logger = logging.getLogger("retwis.accounts")


class RedisBackend:
    """For `django.contrib.auth.authenticate()`. It has no base class: Django's own backends import models."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> Verified | None:
        """The user; None for an unknown name or a wrong password. It begins no session: `Sessions.open` does.

        Both take the same time, except for an account with a slower hash of another Retwis. Five round trips; four
        more for the first login with such a hash. Raises StoreError; raises TooOften after too many wrong passwords for
        this account from the request's address, or after too many logins from that address. Raises SuspendedLogin for
        the right password of a suspended account.
        """
        if username is None or password is None:
            return None
        if request is None:
            return self._verified(username, password)
        limits = RateLimits(connect())
        address = client_address(request)
        subject = login_subject(username, address)
        limits.count(ATTEMPTS, address)  # first: a right password that it refuses must not count as a wrong one
        limits.count(LOGINS, subject)
        try:
            verified = self._verified(username, password)
        except SuspendedLogin:
            limits.forget(LOGINS, subject)
            raise
        if verified is None:
            # The name is not logged: people type their password into its field by mistake.
            logger.warning("wrong name or password from %s, counted as %s", address, subject)
            return None
        limits.forget(LOGINS, subject)
        return verified

    def _verified(self, username: str, password: str) -> Verified | None:
        sessions = Sessions(connect())
        uid = Users(connect()).find(username)
        stored = sessions.stored_password(uid) if uid is not None else None
        if uid is None or stored is None:
            # One hash, as for a wrong password.
            Applications(connect()).tell(username, password, otherwise=make_password)
            return None
        if not _matches(password, uid, stored):
            return None
        if stored.is_suspended:
            raise SuspendedLogin(uid)
        if stored.is_old:
            sessions.replace_old_password(uid, stored.secret, make_password(password))
        return Verified(User(uid, stored.username), stored.generation, stored.language)


def _matches(password: str, uid: int, stored: StoredPassword) -> bool:
    try:
        if check_password(password, stored.encoded):
            return True
    except (ValueError, AssertionError, Argon2Error):  # what Django's hashers raise for a damaged hash
        logger.error(
            "the stored password of user %d is damaged: nobody can log in; `manage.py changepassword` sets another", uid
        )
        make_password(password)
        return False
    if stored.is_old:
        make_password(password)  # to compare an MD5 takes no time; an unknown name costs a hash
    return False
