"""The protocol of roles, as generators of commands: `accounts/community/roles.py` follows it."""

from tests.model.core import Steps

STAFF, LOG, OUTBOX = "staff", "log", "outbox"
MARK = "changing:"


def admins_in(stored: tuple) -> set[str]:
    return {uid for uid, role in stored if role == "admin"}


def marked_in(stored: tuple, own: str) -> set[str]:
    return {uid for field, uid in stored if str(field).startswith(MARK) and field != own}


class RoleProtocol:
    def give(self, uid: str, role: str, nonce: str) -> Steps:
        yield ("ZADD", OUTBOX, f"role:{uid}:{nonce}", 0)
        yield ("HSET", STAFF, f"{MARK}{nonce}", uid)
        stored = yield ("HGETALL", STAFF)
        if self.is_refused(stored, uid, role, f"{MARK}{nonce}"):
            yield ("HDEL", STAFF, f"{MARK}{nonce}")
            yield ("ZREM", OUTBOX, f"role:{uid}:{nonce}")
            return
        yield ("HSET", STAFF, uid, role, f"act:{nonce}", "line")
        yield from self.finish(uid, nonce)

    def is_refused(self, stored: tuple, uid: str, role: str, own: str) -> bool:
        marked, admins = marked_in(stored, own), admins_in(stored)
        return uid in marked or (uid in admins and role != "admin" and not admins - marked - {uid})

    def finish(self, uid: str, nonce: str) -> Steps:
        look = 0
        while True:
            truth = yield ("HMGET", STAFF, uid)
            yield ("HSET", f"user:{uid}", "role", truth[0] or "member")
            again = yield ("HMGET", STAFF, uid)
            look += 1
            if again == truth:
                break
        line = yield ("HMGET", STAFF, f"act:{nonce}")
        if line[0] is not None:
            yield ("ZADD", LOG, nonce, 1)
            yield ("HDEL", STAFF, f"act:{nonce}")
        yield ("HDEL", STAFF, f"{MARK}{nonce}")
        yield ("ZREM", OUTBOX, f"role:{uid}:{nonce}")

    def worker(self, uid: str, nonce: str) -> Steps:
        due = yield ("ZSCORE", OUTBOX, f"role:{uid}:{nonce}")
        if due is not None:
            yield from self.finish(uid, nonce)


class WithoutMarks(RoleProtocol):
    """An early draft: who reads two admins takes the role of one away."""

    def is_refused(self, stored: tuple, uid: str, role: str, own: str) -> bool:
        admins = admins_in(stored)
        return uid in admins and role != "admin" and not admins - {uid}


class OneLook(RoleProtocol):
    """An early draft: the user's hash is written without a second look, and without the marks of others."""

    def is_refused(self, stored: tuple, uid: str, role: str, own: str) -> bool:
        marked, admins = marked_in(stored, own), admins_in(stored)
        return uid in admins and role != "admin" and not admins - marked - {uid}

    def finish(self, uid: str, nonce: str) -> Steps:
        truth = yield ("HMGET", STAFF, uid)
        yield ("HSET", f"user:{uid}", "role", truth[0] or "member")
        yield ("HDEL", STAFF, f"act:{nonce}", f"{MARK}{nonce}")
        yield ("ZREM", OUTBOX, f"role:{uid}:{nonce}")
