"""Early drafts of the protocol of sessions. Each must fail in its scenario."""

from tests.model.core import Steps
from tests.model.sessions.protocol import AUTHS, USER, SessionProtocol, sessions_in


class EachFieldAlone(SessionProtocol):
    """A password change removes the sessions one by one, without a generation."""

    def change(self, password: str, nonce: str) -> Steps:
        yield ("HSET", USER, "password", password)
        fields = yield ("HGETALL", USER)
        secrets = tuple(sorted(sessions_in(fields)))
        yield from self.remove(secrets)


class UseInTheSession(SessionProtocol):
    """A page writes the session's own field."""

    def use(self, secret: str) -> Steps:
        stored = yield ("HMGET", USER, f"session:{secret}", "generation", "deleted")
        if stored[0] is not None and stored[0] == (stored[1] or "") and not stored[2]:
            yield ("HSET", USER, f"session:{secret}", stored[0])


class EntryFirst(SessionProtocol):
    """A logout removes the entry of `auths` before the field: who dies between leaves a session that is listed."""

    def end(self, secret: str, nonce: str) -> Steps:
        yield ("HDEL", AUTHS, secret)
        yield ("HDEL", USER, f"session:{secret}", f"used:{secret}")


DRAFTS = [
    (EachFieldAlone, "password change || login with the old password"),
    (UseInTheSession, "logout || page"),
    (EntryFirst, "logout || page"),
]
