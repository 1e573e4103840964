"""Checks of joining: answers that nothing carries out, uses of invitations without an account; and what is over."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from accounts.community.joining.answers import Answers
from accounts.community.log import read_act
from accounts.joining.applications import ANSWER, Application, read_application, stored_application
from accounts.joining.invitations import OPERATOR, Invitations, read
from accounts.users.checks.account_checks import AccountChecks, unknown
from accounts.users.deletion import is_deleted
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of, keep
from retwis_site.maintenance.lines import NAME, NUMBER, PASSWORD, TEXT, lines_of, uids_in_order
from retwis_site.rendering.dates import iso
from retwis_site.store import keys, kinds
from retwis_site.store.chunks import SETS_AT_ONCE, batches
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id, parse_number
from retwis_site.store.writes import Writes

# ---- The lines of the personal download about invitations.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """Who has invited the user (0: the operator), and the open invitations by the user. Three round trips."""
    by = parse_number(store.hget(keys.user(owner.uid), "invited_by") or "")
    lines: list[Line] = [] if by is None else [{"type": "invited", "by": by}]
    yield lines + [
        {"type": "invitation", "code": one.code, "ends": iso(one.ends), "uses": one.left}
        for one in Invitations(store).open([owner.uid])
    ]


# ---- The lines about joining in the file of a whole site.


APPLICATION = {
    "username": NAME,
    "password": PASSWORD,
    "why": TEXT,
    "at": NUMBER,
    "refused": NUMBER,
    "reason": TEXT,
}


def _read_invitations(store: Store) -> Iterator[Line]:
    """A line for each open invitation: those of the operator, then by the id of the user. Its uses have a key of their
    own. Two round trips for each AT_ONCE users."""
    for uids in ([OPERATOR], *uids_in_order(store)):
        for one in Invitations(store).open(uids):
            yield {"code": one.code, "by": one.by, "uses": one.left}


def _write_invitations(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.invites(line["by"]), {line["code"]: str(line["uses"])})


def _read_applications(store: Store) -> Iterator[Line]:
    """A line for each application, which is JSON, by name. One round trip."""
    found = (read_application(text) for _, text in sorted(store.hgetall(keys.applications()).items()))
    yield from (asdict(one) for one in found if one is not None)


def _write_applications(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        asked = Application(**{field: line[field] for field in APPLICATION})
        writes.hset(keys.applications(), {asked.username.lower(): stored_application(asked)})


INVITATION = {"code": NAME, "by": NUMBER, "uses": NUMBER}
JOINING = (
    lines_of(keys.user.fields["invited_by"]),
    SiteLines("invitation", lambda line: INVITATION, _read_invitations, _write_invitations),
    SiteLines("application", lambda line: APPLICATION, _read_applications, _write_applications),
    lines_of(keys.blocked_names),
)


# ---- Checks


Field = tuple[str, str]
Use = tuple[str, str]  # the key `uses:<digest>`, and a uid in it


class JoiningChecks:
    """The checks of applications and invitations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        def applications() -> int:
            return self._store.hlen(keys.applications())

        return [
            Check("applications that cannot be read", self.damaged, applications),
            Check("answers to applications that nothing carries out", self.answers, applications),
            Check("uses of invitations without an account", self.uses, self._store.dbsize),
        ]

    def orphans(self) -> list[Check]:
        return [
            Check("refusals that are over", self.refusals, lambda: self._store.hlen(keys.applications())),
            Check("invitations that have ended", self.ended, self._store.dbsize),
            Check("invitations by users who are gone", self.ownerless, self._store.dbsize),
        ]

    # ---- applications

    def damaged(self) -> Chunks:
        """Fields of `applications` that are no application: they keep a name from everyone. The repair keeps them under
        `damaged:`."""
        for fields in self._store.hash_fields(keys.applications(), AT_ONCE):
            asked = [(name, text) for name, text in fields if not name.startswith(ANSWER)]
            yield [
                Finding(f"the application for {name!r}", partial(self._move_away, name, text))
                for name, text in asked
                if read_application(text) is None
            ]

    def _move_away(self, name: str, text: str) -> None:
        keep(self._store, keys.applications(), name.encode(), text.encode())
        self._store.hdel(keys.applications(), name)

    def answers(self) -> Chunks:
        """Answers in `applications` that no job is about."""
        for fields in self._store.hash_fields(keys.applications(), AT_ONCE):
            found = [one for one in fields if one[0].startswith(ANSWER)]
            left = confirmed(self._store, found, _jobs_of, self._still_there)
            yield [Finding(f"applications has {field!r}", partial(self._finish, field, line)) for field, line in left]

    def _still_there(self, fields: Sequence[Field]) -> list[Field]:
        pipe = self._store.pipeline()
        asked = [(one, pipe.hget(keys.applications(), one[0])) for one in fields]
        pipe.execute()
        return [one for one, line in asked if line.value == one[1]]

    def _finish(self, field: str, line: str) -> None:
        """Carry an answer out as its job would; remove what is no answer."""
        act = read_act(keys.applications(), line)
        _, name, at = field.split(":") if field.count(":") == 2 else ("", "", "")
        if act is not None and at.isdecimal():
            Answers(self._store).finish(f"application:{name}:{at}:{act.id}", name, int(at), act.id)
        self._store.hdel(keys.applications(), field)

    def refusals(self) -> Chunks:
        """Refusals that the applicant had time enough to read."""
        for fields in self._store.hash_fields(keys.applications(), AT_ONCE):
            asked = [(name, read_application(text)) for name, text in fields if not name.startswith(ANSWER)]
            yield [
                Finding(f"the refusal of {name!r}", partial(self._store.hdel, keys.applications(), name))
                for name, one in asked
                if one is not None and one.is_over
            ]

    # ---- invitations

    def uses(self) -> Chunks:
        """Uses by uids that no user has. The repair gives them back."""
        for names in self._store.scan_keys(kinds.matching("uses:*"), AT_ONCE):
            for some in batches(names, SETS_AT_ONCE):
                pipe = self._store.pipeline()
                asked = [(key, pipe.zrange(key, 0, -1)) for key in some]  # at most MOST_USES each
                pipe.execute()
                used = [(key, uid) for key, uids in asked for uid in uids.value]
                lost = confirmed(self._store, self._unused(used), lambda use: {f"invited:{use[1]}"}, self._unused)
                yield [
                    Finding(f"a use by user {uid}, who never registered", partial(self._store.zrem, key, uid))
                    for key, uid in lost
                ]

    def _unused(self, uses: Sequence[Use]) -> list[Use]:
        """Those of the uses without an account, which are still there. Three round trips."""
        accounts = AccountChecks(self._store)
        nameless = set(accounts.without_name([parse_id(uid) or 0 for _, uid in uses]))
        pipe = self._store.pipeline()
        asked = [(use, pipe.zscore(*use)) for use in uses if parse_id(use[1]) in nameless]
        pipe.execute()
        return [use for use, when in asked if when.value is not None]

    def ended(self) -> Chunks:
        """Invitations that have ended, and fields that are no invitations. A used one stays until its end."""
        for names in self._store.scan_keys(kinds.matching("invites:*"), AT_ONCE):
            for some in batches(names, SETS_AT_ONCE):
                pipe = self._store.pipeline()
                asked = [(key, pipe.hgetall(key)) for key in some]
                pipe.execute()
                yield [
                    Finding(f"an invitation in {key}", partial(self._store.hdel, key, code))
                    for key, stored in asked
                    for code, uses in stored.value.items()
                    if (one := read(code, uses)) is None or not one.is_open  # as if nobody had used it
                ]

    def ownerless(self) -> Chunks:
        """Invitations by users that are unknown, or whose account is deleted."""
        for uids in ids_of(self._store, "invites:*"):
            gone = confirmed(self._store, self._gone(uids), lambda uid: {f"gone:{uid}"}, self._gone)
            yield [Finding(keys.invites(uid), partial(self._store.unlink, keys.invites(uid))) for uid in gone]

    def _gone(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        asked = [(uid, pipe.hget(keys.user(uid), "deleted"), pipe.hlen(keys.invites(uid))) for uid in uids]
        pipe.execute()
        missing = set(unknown(self._store, uids))
        return [uid for uid, deleted, left in asked if left.value and (uid in missing or is_deleted(deleted.value))]


def _jobs_of(field: Field) -> set[str]:
    return {f"application:{field[0].removeprefix(ANSWER)}"}
