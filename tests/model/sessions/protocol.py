"""The protocol of sessions, as generators of commands: `accounts/signing_in/sessions/repository.py` follows it.

One user, "user:1". A session is the field `session:<secret>` with its generation; `used:<secret>` is the hour of its
last use.
"""

from tests.model.core import Command, Steps
from tests.model.round_trips import RoundTrips

USER, AUTHS, OUTBOX = "user:1", "auths", "outbox"
MOST = 2  # sessions


def sessions_in(fields: tuple) -> dict[str, str]:
    """The sessions that stand: secret -> generation."""
    held = dict(fields)
    if "deleted" in held:
        return {}
    found = {name[8:]: value for name, value in held.items() if str(name).startswith("session:")}
    return {secret: made_in for secret, made_in in found.items() if made_in == held.get("generation", "")}


def ended_in(fields: tuple) -> tuple[str, ...]:
    names = [str(name) for name, _ in fields if str(name).startswith(("session:", "used:"))]
    return tuple(sorted({name.partition(":")[2] for name in names} - sessions_in(fields).keys()))


def too_many_in(fields: tuple, kept: str) -> tuple[str, ...]:
    """The first by name stand for those that were used least recently."""
    sessions = sorted(sessions_in(fields))
    others = [secret for secret in sessions if secret != kept]
    return tuple(others[: max(len(sessions) - MOST, 0)])


class SessionProtocol(RoundTrips):
    """Each method is a generator of commands."""

    def log_in(self, password: str, secret: str) -> Steps:
        stored = yield ("HMGET", USER, "password", "generation", "deleted")
        if stored[0] != password or stored[2]:
            return
        yield from self.open(secret, stored[1] or "")

    def open(self, secret: str, generation: str) -> Steps:
        yield ("HSET", AUTHS, secret, 1)
        # Both are for one key, so they stay in order everywhere.
        yield ("HSET", USER, f"session:{secret}", generation)
        fields = yield ("HGETALL", USER)
        over = tuple(dict.fromkeys((*ended_in(fields), *too_many_in(fields, secret))))
        yield from self.remove(over)

    def use(self, secret: str) -> Steps:
        """A page: it reads the session, and writes the hour of its use."""
        stored = yield ("HMGET", USER, f"session:{secret}", "generation", "deleted")
        if stored[0] is not None and stored[0] == (stored[1] or "") and not stored[2]:
            yield ("HSET", USER, f"used:{secret}", 1)

    def end(self, secret: str, nonce: str) -> Steps:
        removed = yield ("HDEL", USER, f"session:{secret}")
        if removed:
            yield from self.remove_traces((secret,))
            return
        stored = yield ("HMGET", USER, "auth")
        if stored[0] == secret:
            yield from self.rotate(secret, (), nonce)

    def change(self, password: str, nonce: str) -> Steps:
        stored = yield ("HMGET", USER, "auth")
        yield from self.rotate(stored[0] or "", ("password", password, "generation", nonce), nonce)

    def rotate(self, old: str, fields: tuple, nonce: str) -> Steps:
        yield ("ZADD", OUTBOX, f"auth:{old}:{nonce}", 0)
        yield ("HSET", USER, *fields, "auth", f"auth {nonce}")
        yield from self.finish(old, f"auth:{old}:{nonce}")

    def finish(self, old: str, job: str) -> Steps:
        fields = yield ("HGETALL", USER)
        held = dict(fields)
        current = held.get("auth", "")
        if "deleted" in held:
            yield ("HDEL", USER, "auth", "generation", "password")
            current = ""
        if current and current != old:
            yield ("HSET", AUTHS, current, 1)
        if current != old:
            yield ("HDEL", AUTHS, old)
        yield from self.remove(ended_in(fields))
        yield ("ZREM", OUTBOX, job)

    def remove(self, secrets: tuple[str, ...]) -> Steps:
        yield from self._tell(self._fields(secrets))
        yield from self.remove_traces(secrets)

    def remove_traces(self, secrets: tuple[str, ...]) -> Steps:
        commands: list[Command] = []
        for secret in secrets:
            commands += [("HDEL", AUTHS, secret), ("HDEL", USER, f"used:{secret}")]
        yield from self._tell(commands)

    def _fields(self, secrets: tuple[str, ...]) -> list[Command]:
        return [("HDEL", USER, f"session:{secret}") for secret in secrets]

    def delete(self) -> Steps:
        """The deletion of the account, and the part of its removal that is about sessions."""
        yield ("HSET", USER, "deleted", 1, "password", "", "auth", "")
        fields = yield ("HGETALL", USER)
        yield from self.remove(ended_in(fields))

    def worker(self, old: str, nonce: str) -> Steps:
        job = f"auth:{old}:{nonce}"
        due = yield ("ZSCORE", OUTBOX, job)
        if due is not None:
            yield from self.finish(old, job)
