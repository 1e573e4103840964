"""Passkeys (WebAuthn): what a browser is asked, and whether its answer is right. Nothing here asks the store.

A challenge is random, signed and told for what it is made, so none has to be kept: only that it was answered, since it
serves once (`SecondFactors.take_passkey`). The browser's answer is the JSON of `PublicKeyCredential.toJSON()`.
"""

import hashlib
import json
import secrets
import time
from enum import StrEnum
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

import webauthn
from cryptography.exceptions import UnsupportedAlgorithm
from django.core import signing
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, options_to_json_dict, parse_client_data_json
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from accounts.second_factor.repository import Factors, Passkey
from accounts.users.entities import User
from retwis_site.identity import shown_site
from retwis_site.store import keys
from retwis_site.store.client import connect
from retwis_site.store.ids import parse_id

LONGEST_ANSWER = 20_000  # characters
LONGEST_ID = 1400  # characters of base64url: WebAuthn's 1023 bytes
TIMEOUT = 1000 * keys.challenge.lives  # ms, for the browser


class Purpose(StrEnum):
    """What a challenge is for. Its answer serves for nothing else."""

    LOGIN = "login"  # without a password
    SECOND_STEP = "second step"
    CONFIRM = "confirm"
    ADD = "add"


class ChallengePurpose(NamedTuple):
    """Who asks for an answer, and for what: it is signed with the challenge. `subject` is the user or the session."""

    purpose: Purpose
    subject: str = ""

    @property
    def _signer(self) -> signing.TimestampSigner:
        return signing.TimestampSigner(salt=f"passkey: {self.purpose}: {self.subject}")

    def challenge(self) -> bytes:
        """A new one, with 128 random bits."""
        return self._signer.sign(secrets.token_hex(16)).encode()

    def is_challenge(self, challenge: bytes) -> bool:
        """Whether this is one, and was made at most five minutes ago."""
        try:
            self._signer.unsign(challenge.decode(errors="replace"), max_age=keys.challenge.lives)
        except signing.BadSignature:
            return False
        return True


def _host(site: str) -> str:
    """The name of a site for passkeys. `site`: the origin of its pages, here as below."""
    return urlsplit(site).hostname or ""


class WrongAnswer(Exception):
    """The answer of a browser is not right."""


# What the libraries raise for an answer that is none.
_ERRORS = (
    *(WebAuthnException, UnsupportedAlgorithm, ValueError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, RecursionError),
)


# ---- What webauthn reads: the CBOR in an answer, but no tags that cbor2 decodes. 700 bytes of lists that each have the
# one before twice (28) stand for a thousand million values, and to hash or to write these stops all threads of a
# process. So does a regular expression (35), which is compiled. CTAP 2.1 (8) allows no tags.


TAGS = (*range(6), 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799)


def _refuse(*_decoder: object) -> NoReturn:
    raise ValueError("a tag")


_parser: Any = import_module("webauthn.helpers.parse_cbor")
_parser.cbor2 = SimpleNamespace(loads=partial(_parser.cbor2.loads, semantic_decoders=dict.fromkeys(TAGS, _refuse)))


# ---- What the browser is asked, as JSON


def options_to_add(site: str, me: User, factors: Factors, asked: ChallengePurpose) -> dict[str, Any]:
    """For `navigator.credentials.create`. Where the device can, it finds the passkey without a name, so it can replace
    the password. An older security key cannot, and is a second factor only."""
    options = webauthn.generate_registration_options(
        rp_id=_host(site),
        rp_name=shown_site(connect()).name,
        user_id=str(me.uid).encode(),
        user_name=me.username,
        user_display_name=me.shown_name,
        challenge=asked.challenge(),
        timeout=TIMEOUT,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED, user_verification=UserVerificationRequirement.PREFERRED
        ),
        exclude_credentials=_described(factors),
    )
    return options_to_json_dict(options)


def options_to_show(site: str, factors: Factors, asked: ChallengePurpose) -> dict[str, Any]:
    """For `navigator.credentials.get`. Without factors the browser offers any passkey of the site; then the person is
    verified, since the passkey replaces the password."""
    alone = asked.purpose is Purpose.LOGIN
    options = webauthn.generate_authentication_options(
        rp_id=_host(site),
        challenge=asked.challenge(),
        timeout=TIMEOUT,
        allow_credentials=_described(factors),
        user_verification=UserVerificationRequirement.REQUIRED if alone else UserVerificationRequirement.PREFERRED,
    )
    return options_to_json_dict(options)


def accepted(site: str, me: User, factors: Factors) -> dict[str, Any]:
    """For `PublicKeyCredential.signalAllAcceptedCredentials`: the browser forgets all other passkeys of this user."""
    ids = [one.id for one in factors.passkeys]
    return {"rpId": _host(site), "userId": bytes_to_base64url(str(me.uid).encode()), "allAcceptedCredentialIds": ids}


def _described(factors: Factors) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.id)) for one in factors.passkeys]


# ---- Its answer


def added(answer: str, name: str, site: str, asked: ChallengePurpose) -> tuple[Passkey, int]:
    """A new passkey, and its counter. Raises WrongAnswer."""
    told = _read(answer)
    try:
        verified = webauthn.verify_registration_response(
            credential=told,
            expected_challenge=_challenge(told, asked),
            expected_rp_id=_host(site),
            expected_origin=site,
        )
    except _ERRORS as error:
        raise WrongAnswer(str(error)) from error
    key = bytes_to_base64url(verified.credential_public_key)
    passkey = Passkey(bytes_to_base64url(verified.credential_id), name, key, int(time.time()))
    if len(passkey.id) > LONGEST_ID:
        raise WrongAnswer("its id is too long")
    return passkey, verified.sign_count


def claimed(answer: str) -> int | None:
    """The uid that an answer says it is of, not yet verified; None when it does not say one."""
    try:
        handle = _read(answer)["response"]["userHandle"]
        return parse_id(base64url_to_bytes(handle).decode())
    except (WrongAnswer, *_ERRORS):
        return None


def shown(answer: str, factors: Factors, site: str, asked: ChallengePurpose) -> tuple[Passkey, str, int]:
    """The passkey of these that has answered, a name of the answered challenge (32 hex digits), and its counter. Raises
    WrongAnswer."""
    told = _read(answer)
    passkey = next((one for one in factors.passkeys if one.id == told.get("id")), None)
    if passkey is None:
        raise WrongAnswer("the user has no such passkey")
    try:
        challenge = _challenge(told, asked)
        verified = webauthn.verify_authentication_response(
            credential=told,
            expected_challenge=challenge,
            expected_rp_id=_host(site),
            expected_origin=site,
            credential_public_key=base64url_to_bytes(passkey.key),
            credential_current_sign_count=0,  # the store compares it, in the command that keeps it
            require_user_verification=asked.purpose is Purpose.LOGIN,
        )
    except _ERRORS as error:
        raise WrongAnswer(str(error)) from error
    return passkey, hashlib.sha256(challenge).hexdigest()[:32], verified.new_sign_count


def _read(answer: str) -> dict[str, Any]:
    if len(answer) > LONGEST_ANSWER:
        raise WrongAnswer("too long")
    try:
        told = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise WrongAnswer("no JSON") from error
    if not isinstance(told, dict):
        raise WrongAnswer("no object")
    return told


def _challenge(told: dict[str, Any], asked: ChallengePurpose) -> bytes:
    """The challenge that was answered. Raises WrongAnswer for one of another purpose, or an old one."""
    challenge = parse_client_data_json(base64url_to_bytes(told["response"]["clientDataJSON"])).challenge
    if not asked.is_challenge(challenge):
        raise WrongAnswer("another challenge, or an old one")
    return challenge
