"""The rules for a new password, used by the forms and the commands; the hash by which it is kept; and old hashes."""

import hashlib
import os
import sys
import threading
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher, BCryptPasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from retwis_site.fair_queue import FairQueue
from retwis_site.http.form_fields import MaxLength
from retwis_site.identity import site_name
from retwis_site.server.processes import run_anywhere

T = TypeVar("T")

# Of a hashing thread: a page's gets three times its time, and nine times when other passwords wait.
NICENESS, NICENESS_IN_A_CROWD = 5, 10
# Forms with a password wait here. A process takes some 30 of them in a second, so a person waits about two seconds.
HASHING = FairQueue(at_once=2, waiting=60)
LONGEST_PASSWORD = 128  # characters; to hash a megabyte would keep a process busy


def check_new_password(password: str, username: str) -> None:
    """Raises ValidationError for a password that is too long, too short, too common, has a null character, or is the
    username or the name of the site, in any letter case."""
    MaxLength(LONGEST_PASSWORD)(password)
    if "\0" in password:
        raise ValidationError(_("Null characters are not allowed."))
    validate_password(password)
    if password.casefold() in {username.casefold(), site_name().casefold()}:
        raise ValidationError(_("Your username and the name of the site are no passwords. Choose another one."))


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """19 MiB for each hash. With Django's default of 100 MiB, a few logins at once fill the memory of a small server.

    Source: OWASP Password Storage Cheat Sheet (m=19456 KiB, t=2, p=1).
    """

    time_cost = 2
    memory_cost = 19456  # KiB
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return _behind_pages(super().encode, password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        return _behind_pages(super().verify, password, encoded)


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
