"""An authenticator app, and a passkey in software: what alice holds beside her password."""

import hashlib
import json
import struct
from urllib.parse import urlsplit

import pyotp
from cbor2 import dumps
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import bytes_to_base64url

from accounts.second_factor import repository
from accounts.second_factor.passkeys import ChallengePurpose, Purpose, added, options_to_add
from accounts.second_factor.repository import Factors, SecondFactors
from accounts.users.entities import User
from retwis_site.store.client import Store
from tests.support.clock import Clock

ORIGIN = "http://testserver"
UP, UV, ATTESTED, EXTENDED = 1, 4, 64, 128  # flags of authenticator data


class App:
    """An authenticator app. Its codes are those of a clock that stands still, so none gets old on a slow machine."""

    def __init__(self, monkeypatch) -> None:
        self.secret, self.clock = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", Clock()
        monkeypatch.setattr(repository, "time", self.clock)

    def code(self, steps: int = 0) -> str:
        """The code that it shows now, or some steps of 30 seconds later."""
        return pyotp.TOTP(self.secret).at(self.clock.time(), counter_offset=steps)

    def next_code(self) -> str:
        """Waits until it shows another code."""
        self.clock.sleep(30)
        return self.code()

    def add(self, store: Store, uid: int = 1) -> None:
        assert SecondFactors(store).add_totp(uid, self.secret, self.next_code())


def shared_lists(number: int) -> bytes:
    """CBOR in which each list has the one before it twice: written out, the last one has 2 ** number values."""
    twice = (b"\xd8\x1c\x82" + 2 * (b"\xd8\x1d" + dumps(before)) for before in range(number - 1))
    return bytes([0x98, number]) + b"\xd8\x1c\x80" + b"".join(twice)


class Authenticator:
    """A passkey: a key pair, its id, whose it is, and a counter."""

    def __init__(self, uid: int = 1, *, counts: bool = True, verifies: bool = True, site: str = ORIGIN) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.id = hashlib.sha256(str(self._key.private_numbers().private_value).encode()).digest()[:16]
        self._uid, self.counter, self._counts = uid, 0, counts
        self._flags, self._site = UP | (UV if verifies else 0), site
        self.extensions = b""  # in CBOR

    def create(self, options: dict[str, object]) -> str:
        """The answer to `navigator.credentials.create`."""
        point = self._key.public_key().public_numbers()
        x, y = point.x.to_bytes(32, "big"), point.y.to_bytes(32, "big")
        key = dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        attested = bytes(16) + struct.pack(">H", len(self.id)) + self.id + key
        data = self._data(ATTESTED) + attested + self.extensions
        attestation = bytes_to_base64url(dumps({"fmt": "none", "attStmt": {}, "authData": data}))
        return self._answer("create", options, attestationObject=attestation)

    def get(self, options: dict[str, object]) -> str:
        """The answer to `navigator.credentials.get`."""
        self.counter += self._counts
        data, client = self._data(0) + self.extensions, self._client_data("get", options)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(
            "get",
            options,
            authenticatorData=bytes_to_base64url(data),
            signature=bytes_to_base64url(signature),
            userHandle=bytes_to_base64url(str(self._uid).encode()),
        )

    def add(self, store: Store, name: str = "Phone") -> None:
        asked = ChallengePurpose(Purpose.ADD, "")
        options = options_to_add(ORIGIN, User(self._uid, "alice"), Factors(), asked)
        SecondFactors(store).add_passkey(self._uid, *added(self.create(options), name, ORIGIN, asked))

    def _data(self, more: int) -> bytes:
        flags = self._flags | more | (EXTENDED if self.extensions else 0)
        return hashlib.sha256(urlsplit(self._site).hostname.encode()).digest() + struct.pack(">BI", flags, self.counter)

    def _client_data(self, what: str, options: dict[str, object]) -> bytes:
        told = {"type": f"webauthn.{what}", "challenge": options["challenge"], "origin": self._site}
        return json.dumps(told).encode()

    def _answer(self, what: str, options: dict[str, object], **response: str) -> str:
        response["clientDataJSON"] = bytes_to_base64url(self._client_data(what, options))
        id_ = bytes_to_base64url(self.id)
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": response})
