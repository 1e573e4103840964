"""Passwords: the rules for a new one, used by the forms and the commands; the hash by which it is kept; old hashes; and
the Django authentication backend, to which a username and a password are shown."""

import hashlib
import logging
import os
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2.exceptions import Argon2Error
from django.contrib.auth.hashers import Argon2PasswordHasher, BCryptPasswordHasher, check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _, gettext_lazy
from precis_i18n import get_profile

from accounts.joining.joining import Applications
from accounts.signing_in.factors import password_digest
from accounts.signing_in.sessions.repository import Sessions, StoredPassword, ask_stored_password
from accounts.users.entities import SuspendedLogin, User, Verified
from accounts.users.repository import Users
from retwis_site.fair_queue import FairQueue
from retwis_site.http.client_ip import client_address
from retwis_site.http.form_fields import MaxLength
from retwis_site.identity import ask_site
from retwis_site.server.processes import run_anywhere
from retwis_site.store.client import answer, connect
from retwis_site.store.ids import digest_of
from retwis_site.store.rate_limits import Limit
from retwis_site.store.schema import NotAdopted

T = TypeVar("T")

# Of a hashing thread: a page's gets three times its time, and nine times when other passwords wait.
NICENESS, NICENESS_IN_A_CROWD = 5, 10
# Forms with a password wait here. A process takes some 30 of them in a second, so a person waits about two seconds.
HASHING = FairQueue(at_once=2, waiting=60)
LONGEST_PASSWORD = 128  # characters; to hash a megabyte would keep a process busy
MOST_PARTS = 4  # characters that a keyboard may send for one: a letter and its marks

_OPAQUE_STRING = get_profile("OpaqueString")


def prepared(password: str) -> str | None:
    """The one form of a password that keyboards type in different ways (RFC 8265, OpaqueString): accents joined to
    their letters, every space the same. None for a text that is no password: it has invisible or unassigned
    characters."""
    try:
        return str(_OPAQUE_STRING.enforce(password))
    except UnicodeError:
        return None


def forms_of(password: str) -> list[str]:
    """The prepared form of a typed password, and the typed one where it is another: a hash from before has that."""
    return list(dict.fromkeys([prepared(password) or password, password]))


def check_length(password: str) -> None:
    """Raises ValidationError for a password whose prepared form is too long."""
    MaxLength(LONGEST_PASSWORD)(password if len(password) > LONGEST_PASSWORD * MOST_PARTS else forms_of(password)[0])


def check_new_password(password: str, username: str) -> None:
    """Raises ValidationError for a password that is too long, too short, too common, has characters that not every
    keyboard sends in the same way, or is the username or the name of the site, in any letter case."""
    check_length(password)
    if "\0" in password:
        raise ValidationError(_("Null characters are not allowed."))
    kept = prepared(password)
    if kept is None:
        raise ValidationError(
            _("A password cannot have control characters or invisible ones, such as those inside some emoji.")
        )
    validate_password(kept)
    if kept.casefold() in {username.casefold(), answer(connect(), ask_site).name.casefold()}:
        raise ValidationError(_("Your username and the name of the site are no passwords. Choose another one."))


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """19 MiB for each hash. With Django's default of 100 MiB, a few logins at once fill the memory of a small server.

    Each new hash is one of the prepared form, wherever the password comes from. `verify` compares exactly, as typed
    passwords of older hashes need it: `forms_of` has both.
    Source: OWASP Password Storage Cheat Sheet (m=19456 KiB, t=2, p=1).
    """

    time_cost = 2
    memory_cost = 19456  # KiB
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return _behind_pages(super().encode, forms_of(password)[0], salt)

    def verify(self, password: str, encoded: str) -> bool:
        return _behind_pages(super().verify, password, encoded)


PHP_BLANKS = " \t\n\r\0\x0b"  # what PHP's `trim` takes off


class TrimmingArgon2PasswordHasher(LeanArgon2PasswordHasher):
    """Keeps what the official Retwis has. Its forms trim a password whenever it is typed, so a password manager may
    have a blank more, and goes on to fit. A password that is set here is kept as typed."""

    algorithm = "argon2trimmed"

    def encode(self, password: str, salt: str) -> str:
        return super().encode(forms_of(password)[0].strip(PHP_BLANKS), salt)

    def verify(self, password: str, encoded: str) -> bool:
        return super().verify(password.strip(PHP_BLANKS), encoded)


MOST_BCRYPT_BYTES = 72  # bcrypt ignores the rest of a password


class PhpBCryptPasswordHasher(BCryptPasswordHasher):
    """Verifies the bcrypt hashes of PHP sites. A longer password is hashed by SHA-512 first, as Symfony does."""

    def verify(self, password: str, encoded: str) -> bool:
        return _behind_pages(super().verify, _for_bcrypt(password), encoded)


def _for_bcrypt(password: str) -> str:
    long = password.encode()
    if len(long) <= MOST_BCRYPT_BYTES:
        return password
    return b64encode(hashlib.sha512(long).digest()).decode()[:MOST_BCRYPT_BYTES]


def _behind_pages(hashing: Callable[[str, str], T], password: str, other: str) -> T:
    """Run in a thread of low priority, on any processor: a hash keeps one busy for 20 ms, and pages must not wait for
    it. A thread cannot get its priority back, so each hash has its own."""
    with ThreadPoolExecutor(1, initializer=_make_way) as thread:
        return thread.submit(hashing, password, other).result()


def _make_way() -> None:
    run_anywhere()
    if sys.platform == "linux":  # elsewhere a priority is that of a process
        thread = threading.get_native_id()
        niceness = NICENESS_IN_A_CROWD if HASHING.someone_waits() else NICENESS
        # Never above that of the process: one that is not root may not do that, and then nobody could log in.
        os.setpriority(os.PRIO_PROCESS, thread, max(os.getpriority(os.PRIO_PROCESS, thread), niceness))


# ---- The backend on Redis, and how often it may be asked.


logger = logging.getLogger("retwis.accounts")

# For each pair of an account and an address
LOGINS = Limit("login", 10, 15 * 60, "wrong passwords", gettext_lazy("Too many wrong passwords in a short time."))
# For each address, over all accounts: a right password costs a hash, as a wrong one does
ATTEMPTS = Limit(
    *("attempt", 200, 15 * 60, "logins from your network"),
    gettext_lazy("Too many login attempts from your network in a short time."),
)


def login_subject(name: str, address: str) -> str:
    """What LOGINS counts by: a hash of the typed name, without a sign before it, and the address: 32 hex digits.

    The address is part of it, so that wrong passwords from other addresses do not lock out the owner of the account.
    """
    return digest_of(f"{name.lower().removeprefix('@')}\0{address}")


class RedisBackend:
    """For `django.contrib.auth.authenticate()`. It has no base class: Django's own backends import models."""

    def authenticate(self, request: HttpRequest | None, username: str, password: str) -> Verified | None:
        """The user; None for an unknown name or a wrong password. It begins no session: `Sessions.open` does, and does
        not when the account has a second factor.

        Both take the same time, except for an account with a slower hash of another Retwis, or a name that is also an
        application's. Five round trips; one more for `@ann`, four more for the first login with such a hash, one more
        for the first with a hash of another form. Raises StoreError; raises TooOften after too many wrong passwords for
        this account from the request's address, or after too many logins from that address. Raises SuspendedLogin for
        the right password of a suspended account, and NotYetMember for that of an applicant, also where the name became
        an account's meanwhile.
        """
        if request is None:
            return self._verified(username, password)
        address = client_address(request)
        subject = login_subject(username, address)
        ATTEMPTS.count(connect(), address)  # first: a right password that it refuses must not count as a wrong one
        LOGINS.count(connect(), subject)
        try:
            verified = self._verified(username, password)
        except SuspendedLogin:
            LOGINS.forget(connect(), subject)
            raise
        if verified is None:
            # The name is not logged: people type their password into its field by mistake.
            logger.warning("wrong name or password from %s, counted as %s", address, subject)
            return None
        LOGINS.forget(connect(), subject)
        return verified

    def _verified(self, username: str, password: str) -> Verified | None:
        sessions = Sessions(connect())
        uid = Users(connect()).find_typed(username)
        if connect().is_foreign:  # its passwords are no hashes. Where limits count, their write was refused before
            raise NotAdopted
        stored = answer(connect(), ask_stored_password, uid) if uid is not None else None
        forms = forms_of(password)
        if uid is None or stored is None:
            # As many hashes as for a wrong password.
            if not Applications(connect()).tell(username, forms):
                _hash_in_vain(forms)
            return None
        fitting = _fitting(forms, uid, stored)
        if fitting is None:
            Applications(connect()).tell(username, forms)  # the name may have become an account's meanwhile
            return None
        if stored.is_suspended:
            raise SuspendedLogin(uid)
        encoded = stored.encoded
        if stored.is_old:
            encoded = make_password(password)
            sessions.replace_old_password(uid, stored.secret, encoded)
        elif fitting != forms[0]:
            encoded = make_password(password)
            sessions.add_prepared_password(uid, stored.encoded, encoded)
        digest = password_digest(encoded) if stored.needs_factor else ""
        user = User(uid, stored.username)
        return Verified(user, stored.generation, stored.language, is_new=stored.is_new, digest=digest)


def _fitting(forms: Sequence[str], uid: int, stored: StoredPassword) -> str | None:
    """The form whose hash is stored."""
    try:
        for form in forms:
            if check_password(form, stored.encoded):
                return form
    except (ValueError, AssertionError, Argon2Error):  # what Django's hashers raise for a damaged hash
        logger.error(
            "the stored password of user %d is damaged: nobody can log in; `manage.py user password` sets another", uid
        )
        _hash_in_vain(forms)
        return None
    if stored.is_old:
        _hash_in_vain(forms)  # to compare an MD5 takes no time; an unknown name costs a hash for each form
    return None


def _hash_in_vain(forms: Sequence[str]) -> None:
    for form in forms:
        make_password(form)
