"""Passwords as other Retwises wrote them."""

import os
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import argon2
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, make_password

from accounts.signing_in.passwords import LONGEST_PASSWORD
from accounts.users.adoption import as_typed, hash_of_official
from retwis_site.store.schema import is_hash

# ---- Passwords, as this site can verify them.


_MD5 = re.compile(r"[0-9a-fA-F]{32}\Z")
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}\Z", re.ASCII)  # cost 17 takes 6 s
_BASE64 = re.compile(r"[A-Za-z0-9+/]+\Z", re.ASCII)
_SALT_BYTES, _HASH_BYTES = range(8, 65), range(12, 129)
_MOST_ARGON2_MEMORY = 2**20  # KiB; PHP takes 64 MiB
_MOST_ARGON2_PASSES = 20


@dataclass(frozen=True, slots=True)
class ForeignPassword:
    """A password in clear text, or its hash in Django's form, `<algorithm>$<rest>`."""

    kind: str  # CLEAR_TEXT, or the algorithm of the hash
    text: str = field(repr=False)
    hashed: Callable[[str], str] = str  # makes the hash of a clear text, before it is written


CLEAR_TEXT = "clear text"


def _hash(encoded: str) -> ForeignPassword:
    return ForeignPassword(encoded.partition("$")[0], encoded)


def clear_text(text: str | None, hashed: Callable[[str], str] = make_password) -> ForeignPassword | None:
    """A password as it was typed. None for a text that the login form does not accept: nobody could log in with it."""
    typed = as_typed(text or "")
    is_accepted = typed and len(typed) <= LONGEST_PASSWORD and "\0" not in typed
    return ForeignPassword(CLEAR_TEXT, typed, hashed) if is_accepted else None


def official_text(text: str | None) -> ForeignPassword | None:
    """As `clear_text`, of the official Retwis, whose login trims what is typed."""
    return clear_text(text, hash_of_official)


def official_text_or_hash(text: str | None) -> ForeignPassword | None:
    """A hash of this site is taken over, and Django's value for an unusable password is none: a database that was once
    this site's may have them."""
    if not text or not is_hash(text):
        return official_text(text)
    return None if text.startswith(UNUSABLE_PASSWORD_PREFIX) else _hash(text)


def salted_md5(salt: str | None, digest: str | None) -> ForeignPassword | None:
    """The MD5 of the salt followed by the password. None for what Django cannot verify."""
    if not salt or "$" in salt or not _is_utf_8(salt) or not digest or not _MD5.match(digest):
        return None
    return _hash(f"md5${salt}${digest.lower()}")


def php_hash(text: str | None) -> ForeignPassword | None:
    """A hash of PHP's `password_hash`: bcrypt or argon2. None for any other, and for a damaged one."""
    if text and _BCRYPT.match(text):
        return _hash(f"bcrypt${text}")
    if text and _is_argon2(text):
        return _hash(f"argon2{text}")
    return None


def _is_argon2(text: str) -> bool:
    """Whether it is complete, and can be verified in the memory and the time that a server has."""
    try:
        cost = argon2.extract_parameters(text)
        salt, digest = map(_decoded, text.split("$")[-2:])
    except ValueError:  # also InvalidHash, UnicodeEncodeError and binascii.Error
        return False
    return (
        len(salt) in _SALT_BYTES
        and len(digest) in _HASH_BYTES
        and 0 < cost.time_cost <= _MOST_ARGON2_PASSES
        and 0 < cost.parallelism * 8 <= cost.memory_cost <= _MOST_ARGON2_MEMORY
    )


def _decoded(text: str) -> bytes:
    """Raises ValueError for text that is not base64 without padding."""
    if not _BASE64.match(text):
        raise ValueError("not base64")
    return b64decode(text + "=" * (-len(text) % 4))


def _is_utf_8(text: str) -> bool:
    """Whether the source's bytes were UTF-8. Others were read as surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def encode_all(passwords: Sequence[ForeignPassword | None]) -> list[str | None]:
    """Each as a Django hash. A hash of a clear text takes a core 20 ms, so all cores are used."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(_encode, passwords))


def encode_none(passwords: Iterable[ForeignPassword | None]) -> list[str | None]:
    """For a dry run: nothing is hashed."""
    return [None for _ in passwords]


def _encode(password: ForeignPassword | None) -> str | None:
    return None if password is None else password.hashed(password.text)
