"""Recovery codes: each opens an account once, without its password.

`user:<uid>` has a field for each code that is left: `recovery:<hash>`, the time when it was made. A code has 80 random
bits, so nobody can find it from its hash by trying, however fast the hash is: SHA-256 is enough, and a slow hash would
only cost the site. The command that sets a password marks the field of its code as spent, and then it goes. HDEL
takes a code as a second factor. Both are done by one process at a time, which has found the code there: it serves once.
"""

import secrets
import time

from accounts.signing_in.sessions.repository import alone_with_sessions
from accounts.users.entities import OPERATOR, Role, State, SuspendedLogin, User
from accounts.users.repository import PERSON, RECOVERY, SPENT, Users, person, role_of, state_now
from retwis_site.store import keys
from retwis_site.store.client import Repository
from retwis_site.store.ids import digest_of, parse_id

NUMBER = 10  # codes that are made at once
SIGNS = 16  # of a code, 5 bits each
LONGEST_TYPED = 100  # characters
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no letters that look like others
_AS_READ = str.maketrans({"o": "0", "i": "1", "l": "1", "-": "", " ": "", "\u2010": "", "\u2011": "", "\u2013": ""})


class RecoveryCodes(Repository):
    """The codes of all users."""

    def make(self, uid: int) -> list[str]:
        """New codes, as they are shown; those before them open nothing any more. Three round trips, two without any
        before, one more for an account that is deleted meanwhile. A process that dies meanwhile leaves those before."""
        codes = ["".join(secrets.choice(ALPHABET) for _ in range(SIGNS)) for _ in range(NUMBER)]
        now = str(int(time.time()))
        made = {field_of(uid, code): now for code in codes}
        before = codes_in(self._store.hgetall(keys.user(uid)))
        Users(self._store).write(uid, made)  # a server without memory refuses it, and would remove those before
        Users(self._store).take_back(uid, before)
        return [as_shown(code) for code in codes]

    def owner(self, uid: int, typed: str) -> User | None:
        """The user, when they have this code; it is not taken. One round trip. Raises SuspendedLogin."""
        *about, code = self._store.hmget(keys.user(uid), [*PERSON, field_of(uid, typed)])
        return None if code in (None, SPENT) else _let_in(uid, about)

    def claim(self, uid: int, typed: str) -> bool:
        """Take a code; False when the user has no such code, or has spent it. Five round trips, one without such a
        code. A new password that takes it at the same time comes before or after it. Raises LeaseEnded."""
        key, code = keys.user(uid), field_of(uid, typed)
        if self._store.hget(key, code) in (None, SPENT):
            return False
        with alone_with_sessions(self._store, uid) as store:
            return store.hget(key, code) not in (None, SPENT) and bool(store.hdel(key, code))


def as_shown(code: str) -> str:
    """In groups of four: `abcd-efgh-jkmn-pqrs`."""
    return "-".join(code[at : at + 4] for at in range(0, SIGNS, 4))


def field_of(uid: int, typed: str) -> str:
    """The field of a code, as a person may type it: in any letter case, with or without spaces and hyphens, with
    letters in place of digits that look like them."""
    code = typed[:LONGEST_TYPED].lower().translate(_AS_READ)
    return RECOVERY + digest_of(f"{uid}:{code}")


def _let_in(uid: int, about: list[str | None]) -> User | None:
    """The user, from the fields PERSON, whose code or link is right; None for a deleted account. Raises
    SuspendedLogin."""
    username, _, deleted, *_, state, until = about
    if username and deleted is None and state_now(uid, state, until) is State.SUSPENDED:
        raise SuspendedLogin(uid)
    return person(uid, about)


def codes_in(fields: dict[str, str]) -> list[str]:
    """The names of the fields of codes that are left, among all fields of a user."""
    return [name for name, made in fields.items() if name.startswith(RECOVERY) and made != SPENT]


# ---- Links that set a new password once: `/reset/<token>/`. An operator or a moderator makes one and hands it over.
#
# `reset:<digest of the token>` has the user, the generation of the user's sessions, and the user's role. So a link also
# ends with a password change, and with whatever else ends all sessions; and what a moderator made for a member opens no
# account of staff. It also has who of staff has made it, and ends when they may not make it any more. The user's hash
# names the newest link, which alone opens the account.


LIVES = keys.reset.lives  # seconds
LONGEST_TOKEN = 100  # characters
MADE_FOR = ("generation", "role")  # fields of a user; a link ends when one of them changes
OF_MAKER = ("role", "deleted", "state", "state_until")  # fields of who has made it


class ResetLinks(Repository):
    """All links."""

    def make(self, uid: int, by: int = OPERATOR) -> str:
        """The token of a new link for this user, 43 characters for an address. It ends those before it. Two round
        trips, three for an account that is deleted meanwhile."""
        token = secrets.token_urlsafe(32)
        made_for = [field or "" for field in self._store.hmget(keys.user(uid), MADE_FOR)]
        maker = [] if by == OPERATOR else [str(by)]
        with self._store.pipeline() as pipe:
            pipe.set_ex(_key(token), ":".join([str(uid), *made_for, *maker]), LIVES)
            pipe.hset(keys.user(uid), {"reset_link": _digest(token)})
            deleted = pipe.hget(keys.user(uid), "deleted")
        if deleted.value is not None:
            Users(self._store).take_back(uid, ["reset_link"])
        return token

    def owner(self, token: str) -> User | None:
        """The user whose password the link sets; None when it was used, has ended or never was. Two round trips. Raises
        SuspendedLogin."""
        text, *told = (self._store.get(_key(token)) or "").split(":")
        uid, made_for, maker = parse_id(text), told[: len(MADE_FOR)], told[len(MADE_FOR) :]
        if uid is None:
            return None
        by = parse_id(maker[0]) or 0 if maker else None
        with self._store.pipeline() as pipe:
            stored = pipe.hmget(keys.user(uid), [*PERSON, *MADE_FOR, "reset_link"])
            of_maker = None if by is None else pipe.hmget(keys.user(by), OF_MAKER)
        *about, generation, role, newest = stored.value
        if made_for != [generation or "", role or ""] or newest not in (None, _digest(token)):
            return None
        if by is not None and of_maker is not None and not _may_make(by, of_maker.value, role_of(uid, role)):
            return None
        return _let_in(uid, about)


def _may_make(by: int, fields: list[str | None], role: Role) -> bool:
    """Whether who has these fields OF_MAKER may make a link for a person of this role."""
    own, deleted, *imposed = fields
    ranks, state = [*Role], state_now(by, *imposed)
    acts = deleted is None and state not in (State.FROZEN, State.SUSPENDED)
    return acts and ranks.index(role_of(by, own)) > ranks.index(role)


def _digest(token: str) -> str:
    return digest_of(token[:LONGEST_TOKEN])


def _key(token: str) -> str:
    return keys.reset(_digest(token))
