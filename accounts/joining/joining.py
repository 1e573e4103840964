"""How people join: at once, after an approval, or with an invitation, as the site's word `registration` says; and under
which names."""

import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from django.contrib.auth.hashers import check_password
from django.urls import get_resolver
from django.utils.translation import gettext_lazy as _, gettext_noop

from accounts.users.accounts import Registration, alone_with_looks, looks_like_another
from accounts.users.entities import OPERATOR, NameTaken, Refused, User
from accounts.users.names import skeletons
from accounts.users.repository import Users, ask_owners, ask_user
from retwis_site.exceptions import LeaseEnded
from retwis_site.identity import Mode
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from retwis_site.store.chunks import remove_unchanged
from retwis_site.store.client import Repository, Store, answer, answers
from retwis_site.store.ids import digest_of, parse_number, stored_names, stored_record

# ---- Applications of people who ask to join. Each is one field of the hash `applications`: the lower-cased name ->
# JSON.
#
# HSETNX on the name decides between two people who ask for it. An account exists only after the approval, which is a
# plain registration; so nothing has to hide an account that is not approved. Staff's answer is a field of the same hash
# until it is carried out (`accounts/community/acts.py`). The sorted set `applicants` names those that wait, so that
# one command counts them.


MOST_WAITING = 500
KEPT = 30 * 24 * 3600  # seconds that a refused applicant can read the answer
LONGEST_WHY = 500  # characters
SENT_AGAIN_WITHIN = 3600  # seconds; after these, a form with a name that is taken is somebody else's
NAME_TAKEN = gettext_noop("Someone else has this name, or one that looks like it. Ask again with another name.")
ANSWER = "answer:"  # what the field of an answer begins with


class TooManyWait(Refused):
    message = _("Too many people wait for an answer. Try again in some days.")


class NotYetMember(Exception):
    """The right password of somebody whose application is not approved. Its text says how it stands."""


@dataclass(frozen=True, slots=True)
class Application:
    """Somebody asks to join."""

    username: str
    password: str = field(repr=False)  # a Django hash
    why: str = field(repr=False)
    at: int  # unix seconds
    refused: int = 0  # unix seconds; 0: it waits for an answer
    reason: str = field(default="", repr=False)  # of the refusal

    @property
    def member(self) -> str:
        """In the sorted set of those that wait."""
        return f"{self.username.lower()}:{self.at}"

    @property
    def is_over(self) -> bool:
        """Whether it was refused so long ago that the name is free again."""
        return 0 < self.refused < time.time() - KEPT


class Applications(Repository):
    """All applications."""

    def apply(self, username: str, password: str, why: str) -> None:
        """Ask to join; `password` is a Django hash. Commit: HSETNX. Seven round trips, and those of
        `forget`: old refusals go, and older ones make room. Raises NameTaken, TooManyWait."""
        if Users(self._store).find(username) is not None:
            raise NameTaken(username)
        stored = self._read()
        waiting = sum(not one.refused for one in stored.values())
        if waiting >= MOST_WAITING:
            raise TooManyWait
        asked = Application(username, password, why, int(time.time()))
        job = Outbox(self._store).add(f"applied:{asked.member}")
        texts = {one.username.lower(): text for text, one in stored.items()}
        old = [one.username.lower() for one in old_refusals([*stored.values()], MOST_WAITING - waiting)]
        Applications(job.store).forget({name: texts[name] for name in old})
        if not job.store.hsetnx(keys.applications(), username.lower(), stored_application(asked)):
            job.done()
            raise NameTaken(username)
        with job.ending():
            Applications(job.store).list_waiting(asked)

    def list_waiting(self, asked: Application) -> None:
        """Write that an application waits. Two round trips. An answer that comes between takes it out again."""
        self._store.zadd(keys.applicants(), {asked.member: asked.at})
        found = self.find(asked.username)  # read after the write
        if found is None or found.refused or found.at != asked.at:
            self._store.zrem(keys.applicants(), asked.member)

    def forget(self, read: Mapping[str, str]) -> None:
        """Remove applications that were read as these texts, each by its field. An application that was made since then
        stays. Round trips as for `remove_unchanged`."""
        remove_unchanged(self._store, keys.applications(), read)

    def is_reserved(self, username: str) -> bool:
        """Whether somebody has asked for this name, or was refused of late. One round trip."""
        found = self.find(username)
        return found is not None and not found.is_over

    def all(self) -> list[Application]:
        """Those that wait, oldest first. One round trip."""
        return sorted((one for one in self._read().values() if not one.refused), key=lambda one: (one.at, one.username))

    def _read(self) -> dict[str, Application]:
        """Those that wait, and those that were refused, by their texts. One round trip."""
        stored = self._store.hgetall(keys.applications())
        texts = (text for field, text in stored.items() if not field.startswith(ANSWER))
        return {text: one for text in texts if (one := read_application(text)) is not None}

    def find(self, username: str) -> Application | None:
        """The application for this name. One round trip."""
        text = self._store.hget(keys.applications(), username.lower())
        return None if text is None else read_application(text)

    def tell(self, username: str, passwords: Sequence[str]) -> bool:
        """Raises NotYetMember for the right password of an applicant, in one of its forms; two round trips. Else
        whether there is one, whose password cost a hash for each form; one round trip."""
        asked = self.find(username)
        if asked is None:
            return False
        if any(check_password(one, asked.password) for one in passwords):
            is_taken = not asked.refused and Users(self._store).find(username) is not None
            raise NotYetMember(str(_(NAME_TAKEN)) if is_taken else _outcome(asked))
        return True


def finish_applying(store: Store, claim: Claim) -> None:
    """The job `applied:<name>:<at>`. Three round trips at most."""
    asked = Applications(store).find(claim.name.split(":")[1])
    if asked is not None and claim.name == f"applied:{asked.member}":
        Applications(store).list_waiting(asked)


def old_refusals(stored: Sequence[Application], room: int) -> list[Application]:
    """The refusals that are over; the oldest ones too when there are more than `room`."""
    refused = sorted((one for one in stored if one.refused), key=lambda one: one.refused, reverse=True)
    return [one for place, one in enumerate(refused) if place >= room or one.is_over]


def _outcome(asked: Application) -> str:
    if not asked.refused:
        return str(_("The people who run this site have not answered yet. Try again later."))
    refusal = str(_("The people who run this site have refused your application."))
    reason = _(NAME_TAKEN) if asked.reason == NAME_TAKEN else asked.reason
    return f"{refusal} {reason}".strip()


def stored_application(asked: Application) -> str:
    return json.dumps(asdict(asked), ensure_ascii=False, sort_keys=True)


def read_application(text: str) -> Application | None:
    """Without fields that a newer version has written; None for a text that is no application."""
    return stored_record(Application, keys.applications(), text, "an application")


# ---- Invitations. Each is a field of `invites:<uid>`, of the user who invites; those of the operator are in
# `invites:0`.
#
# The field is the code, `<uid>-<end>-<random>`; its value says how many people it lets in. So a code leads to its own
# hash and says itself when it ends. Whom it has let in stands in a sorted set of uids, `uses:<digest>`. A new user
# takes a use before the registration's commit, under their uid: so the job of a registration that died can give exactly
# this use back, also twice.


DAYS = 14
MOST_USES = 1000
MOST_DAYS = 3650
USES_KEPT = A_DAY  # seconds that the uses of an invitation outlive it

_CODE = re.compile(r"([0-9]{1,16})-([0-9]{1,16})-[0-9a-z]{1,24}")


class NotInvited(Refused):
    message = _("This invitation has been used, has ended, or was revoked. Ask for another one.")


class TooManyInvitations(Refused):
    message = _("You have as many open invitations as you may have.")


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation. `by` is 0 for one of the operator."""

    code: str = field(repr=False)
    by: int
    ends: int  # unix seconds
    uses: int  # how many people it lets in
    used: int = 0
    inviter: str = ""  # the username, as `find` reads it; empty for the operator

    @property
    def left(self) -> int:
        """How many people can still use it."""
        return max(self.uses - self.used, 0)

    @property
    def is_open(self) -> bool:
        return self.left > 0 and self.ends > time.time()


def new_token() -> str:
    """The random part of a code. A form has it before it is sent."""
    return secrets.token_hex(8)


def new_invitation(by: int = OPERATOR, uses: int = 1, days: int = DAYS, token: str = "") -> Invitation:
    """An invitation with a new code. It is not stored yet."""
    ends = int(time.time()) + days * A_DAY
    return Invitation(f"{by}-{ends}-{token or new_token()}", by, ends, uses)


def read_invitation(code: str, uses: str | None) -> Invitation | None:
    """What a code and its field say, without who has used it. It may have ended. None for any other text."""
    match, number = _CODE.fullmatch(code), parse_number(uses or "")
    if match is None or number is None:
        return None
    by, ends = parse_number(match[1]), parse_number(match[2])
    return None if by is None or ends is None else Invitation(code, by, ends, number)


def uses_of(code: str) -> str:
    """The key of those whom an invitation has let in."""
    return keys.uses(digest_of(code))


class Invitations(Repository):
    """The invitations of all users and of the operator."""

    def make(self, by: int = OPERATOR, uses: int = 1, days: int = DAYS, token: str = "") -> Invitation:
        """A new invitation. `token`: the random part of its code, where a form has it. One round trip."""
        made = new_invitation(by, uses, days, token)
        self.add(made)
        return made

    def add(self, new: Invitation) -> None:
        """Let people join by an invitation. One round trip."""
        self._store.hset(keys.invites(new.by), {new.code: str(new.uses)})

    def with_code(self, code: str) -> Invitation | None:
        """The invitation with this code, also one that has ended, without who has used it. One round trip."""
        named = read_invitation(code, "0")
        return None if named is None else read_invitation(code, self._store.hget(keys.invites(named.by), code))

    def make_within(self, quota: int, by: int, token: str) -> Invitation:
        """The invitation of a member's form, which has this token: a form that is sent again makes no second one while
        the first is open. Three round trips; five for such a form. Raises TooManyInvitations above a quota of open
        uses: of two that are made at once, both may be refused. One above it is made only when the process dies before
        it has counted."""
        made = self.make(by, 1, DAYS, token)
        found = self.open([by])  # read after the write: of two at once, the later one sees both
        first, *again = [one for one in found if one.code.endswith(f"-{token}")] or [made]
        for one in again:
            self.revoke(by, one.code)
        if first.code == made.code and sum(one.left for one in found if one not in again) > quota:
            self.revoke(by, made.code)
            raise TooManyInvitations
        return first

    def open(self, by: Sequence[int]) -> list[Invitation]:
        """The open invitations of several users, in their order, each user's first to end first. Two round trips. One
        that is used up stays until its end: a use may be given back."""
        stored = answers(self._store, lambda pipe, uid: pipe.hgetall(keys.invites(uid)), by)
        found: list[Invitation] = []
        for codes in stored.values():
            read = (read_invitation(code, uses) for code, uses in codes.items())
            found += sorted(filter(None, read), key=lambda one: (one.ends, one.code))
        used = answers(self._store, lambda pipe, one: pipe.zcard(uses_of(one.code)), found)
        counted = [replace(one, used=number) for one, number in used.items()]
        return [one for one in counted if one.is_open]

    def find(self, code: str) -> Invitation:
        """The open invitation with this code; none of a user who is suspended or whose account is deleted. One round
        trip. Raises NotInvited."""
        named = read_invitation(code, "0")
        if named is None:
            raise NotInvited
        with self._store.pipeline() as pipe:
            uses = pipe.hget(keys.invites(named.by), code)
            used = pipe.zcard(uses_of(code))
            inviter = ask_user(pipe, named.by)
        found = read_invitation(code, uses.value)
        if found is None or (found.by != OPERATOR and inviter.value is None):
            raise NotInvited
        found = replace(found, used=used.value, inviter=inviter.value.username if inviter.value else "")
        if not found.is_open:
            raise NotInvited
        return found

    def use(self, invitation: Invitation, uid: int) -> Job:
        """Take a use for a user who is about to register, before the fields of the user are written. Returns the job
        that gives it back if nothing comes of it; when the user has the name, it is done. Two round trips. Raises
        NotInvited when none is left: of two people who take the last use at the same moment both may be refused, and
        never both let in."""
        key = uses_of(invitation.code)
        job = Outbox(self._store).add(f"invited:{uid}:{key.rpartition(':')[2]}")
        with job.store.pipeline() as pipe:
            pipe.zadd(key, {str(uid): int(time.time())})
            pipe.expire(key, max(invitation.ends - int(time.time()), 0) + USES_KEPT)
            taken = pipe.zcard(key)
        if taken.value > invitation.uses:
            self.give_back(job, invitation, uid)
            raise NotInvited
        return job

    def give_back(self, job: Job, invitation: Invitation, uid: int) -> None:
        """The user could not register. Two round trips."""
        job.store.zrem(uses_of(invitation.code), str(uid))
        job.done()

    def revoke(self, by: int, code: str) -> bool:
        """Take an invitation of this user back. Returns whether there was one. Two round trips. The field goes first:
        without it, nobody joins."""
        found = read_invitation(code, "0")
        if found is None or found.by != by:
            return False
        was_there = bool(self._store.hdel(keys.invites(by), code))
        self._store.unlink(uses_of(code))
        return was_there


def finish_use(store: Store, claim: Claim) -> None:
    """The job `invited:<uid>:<digest>`: a use stays with a user who has registered; else it is given back. Round
    trips of `settle`, and one."""
    uid = job_id(claim.name, 1)
    if not Registration(store).settle(uid):
        store.zrem(keys.uses(claim.name.split(":")[2]), str(uid))


# ---- The newest users, and who has invited them.


MOST = 50
LOOKED_AT = 200  # of the newest users, when a page names whom one person has invited


class Newcomer(NamedTuple):
    username: str
    invited_by: str  # a username; empty for the operator


def newcomers(store: Store) -> list[Newcomer]:
    """Those of the newest MOST users who were invited, newest first. Four round trips; one more when an inviter is
    suspended or deleted. An inviter without a stored name counts as the operator."""
    by = _inviters(store, MOST)
    people = Users(store).people({*by.values()} - {OPERATOR})
    gone = {*by.values()} - {OPERATOR, *people}
    names = answers(store, lambda pipe, uid: pipe.hget(keys.user(uid), "username"), gone)
    names |= {uid: person.username for uid, person in people.items()}
    return [Newcomer(name, names.get(uid) or "") for name, uid in by.items()]


def invited_by(store: Store, uid: int) -> list[str]:
    """The usernames of those of the newest LOOKED_AT users whom this user has invited, newest first. Three round
    trips."""
    return [name for name, by in _inviters(store, LOOKED_AT).items() if by == uid]


def _inviters(store: Store, number: int) -> dict[str, int]:
    """By username, newest first, who has invited those of the newest users who were invited; 0: the operator."""
    names = stored_names(keys.users_by_time(), store.zrevrange(keys.users_by_time(), 0, number - 1))
    uids = answer(store, ask_owners, names)
    by = answers(store, lambda pipe, name: pipe.hget(keys.user(uids[name]), "invited_by"), uids)
    return {name: parse_number(field) or 0 for name, field in by.items() if field is not None}


# ---- Names that nobody may register: words of the site, and words that staff has blocked; also what looks like them.


WORDS = (
    *("admin", "administrator", "moderator", "mod", "root", "support", "help", "staff", "team", "official", "operator"),
    *("system", "security", "abuse", "info", "contact", "webmaster", "postmaster", "everyone", "nobody", "me", "you"),
)
MOST_BLOCKED = 1000


def is_reserved(name: str) -> bool:
    """Whether the name is, or looks like, a word of the site or the beginning of one of its addresses."""
    firsts = {str(pattern.pattern).partition("/")[0] for pattern in get_resolver().url_patterns}
    taken = {skeleton for word in (*WORDS, *firsts) if word.isalnum() for skeleton in skeletons(word)}
    return not taken.isdisjoint(skeletons(name))


class NameRefused(Refused):
    message = _("This name cannot be used here. Choose another one.")


class BlockedNames(Repository):
    """Names that staff has blocked: a word stands for itself and what looks like it, and `*` for any letters."""

    def add(self, word: str) -> None:
        """Block a word; existing accounts stay. One round trip."""
        self._store.hset(keys.blocked_names(), {word.lower(): str(int(time.time()))})

    def remove(self, word: str) -> None:
        """One round trip."""
        self._store.hdel(keys.blocked_names(), word.lower())

    def all(self) -> list[str]:
        """One round trip."""
        return sorted(self._store.hgetall(keys.blocked_names()))

    def has(self, name: str) -> bool:
        """Whether a word blocks this name. One round trip."""
        shapes = {name.lower(), *skeletons(name)}
        patterns = {shape for word in self.all() for shape in (word, *skeletons(word))}
        return any(fnmatchcase(shape, pattern) for shape in shapes for pattern in patterns)


def check_name(store: Store, name: str) -> None:
    """Two round trips. Raises NameRefused for a name that is reserved, blocked, or looks like an account's."""
    if looks_like_another(store, name) or is_reserved(name) or BlockedNames(store).has(name):
        raise NameRefused


# ---- Joining


class Closed(Refused):
    message = _("Nobody can join this site at the moment.")


class NeedsInvitation(Refused):
    message = _("You need an invitation to join this site.")


class Joining(Repository):
    """Makes accounts of strangers, by the rules of the site."""

    def check_open(self, mode: Mode, code: str) -> Invitation | None:
        """The open invitation with this code, if there is one: where people may join without, a code that has ended is
        none. One round trip with a code, else none. Raises Refused."""
        if mode == "closed":
            raise Closed
        if code:
            try:
                return Invitations(self._store).find(code)
            except NotInvited:
                if mode == "invite":
                    raise
        elif mode == "invite":
            raise NeedsInvitation
        return None

    def check_name(self, username: str) -> None:
        """Four round trips. Raises NameTaken, also for the name of an application, and NameRefused."""
        if Users(self._store).find(username) is not None or Applications(self._store).is_reserved(username):
            raise NameTaken(username)
        check_name(self._store, username)

    def may_be_sent_again(self, username: str, why: str | None) -> bool:
        """Whether an application with this name and reason waits, or a new account has exactly this name, to which no
        home has shown a post yet. Two round trips."""
        uid = Users(self._store).find(username)
        if uid is None:
            asked = Applications(self._store).find(username)
            return asked is not None and not asked.refused and asked.why == why
        with self._store.pipeline() as pipe:
            fields = pipe.hmget(keys.user(uid), ["username", "seen", "deleted"])
            registered = pipe.zscore(keys.users_by_time(), username)  # None: the store failed before it was listed
        is_new = registered.value is None or registered.value > time.time() - SENT_AGAIN_WITHIN
        return is_new and fields.value == [username, None, None]

    def join(self, mode: Mode, username: str, password: str, why: str, code: str) -> User | None:
        """Make a user; `password` is a Django hash. None when staff has to approve it first. About 17 round trips.
        Raises Refused, LeaseEnded."""
        invitation = self.check_open(mode, code)
        with alone_with_looks(self._store, username) as store:
            joining = Joining(store)
            joining.check_name(username)
            if invitation is not None:
                return joining._join_invited(username, password, invitation)
            if mode == "approval":
                Applications(store).apply(username, password, why)
                return None
            return Registration(store).register(username, password)

    def _join_invited(self, username: str, password: str, invitation: Invitation) -> User:
        """The use is taken under the new uid, before the fields from which a worker could finish the registration: so
        nobody joins without a use. A use without a registration is given back."""
        registration, invitations = Registration(self._store), Invitations(self._store)
        begun = registration.begin(username)
        try:
            use = invitations.use(invitation, begun.uid)
        except NotInvited:
            registration.give_up(begun)
            raise
        try:
            user = registration.complete(begun, password, {"invited_by": str(invitation.by)})
        except NameTaken:
            invitations.give_back(use, invitation, begun.uid)
            raise
        with suppress(LeaseEnded):
            use.done()
        return user
