"""Sanctions: what staff imposes on a person. The field `state` of `user:<uid>` is read wherever names are.

One process at a time reads what is imposed on a person and changes it (`alone_with`). To impose or lift one is a
single HSET, with the line for the log. With that line (`after_act` of a feature) the person is told of its end, and of
the answer to an appeal. A worker then makes the numbers of pages follow. A suspension removes nothing, so to lift it
brings all back. After 30 days a worker deletes the account: the job for it is written before the suspension. It waits
while an appeal is open. In the hour before the account may go, a suspension is neither lifted nor appealed against.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from accounts.community.log import Act, Log, read_act
from accounts.users.entities import OPERATOR, SUSPENDED_FOR, NoSuchUser, Refused, Role, Sanction, State
from accounts.users.repository import IMPOSED, NO_SANCTION, Users, sanction_of
from retwis_site.features import features
from retwis_site.jobs.outbox import Claim, Outbox, add_due, alone, job_id
from retwis_site.store import keys
from retwis_site.store.chunks import newest_below, newest_first
from retwis_site.store.client import Pipe, Repository, Scored, Store, answers
from retwis_site.store.ids import nonce, parse_id, parse_number, stored_id, stored_record
from retwis_site.store.kinds import OfId
from retwis_site.store.local_cache import Memory
from retwis_site.store.snowflake import STEP

# ---- Appeals against sanctions, as they are stored.


PAGE = 20


@dataclass(frozen=True)
class Appeal:
    """What a person says about what is imposed on them."""

    act: str  # the id of the act that imposed it
    text: str
    at: int  # unix seconds
    uid: int = 0  # of the person, in whose hash it stands

    @property
    def member(self) -> str:
        """In the sorted set of open appeals."""
        return f"{self.uid}:{self.act}"

    def stored(self) -> str:
        """As the field `appeal` of the person's hash."""
        return json.dumps({"act": self.act, "at": self.at, "text": self.text}, ensure_ascii=False)


def answer_of(act_id: str) -> str:
    """The field with the decision about an appeal against the sanction of this act."""
    return f"answer:{act_id}"


def read_appeal(uid: int, stored: str | None) -> Appeal | None:
    """The appeal in the field `appeal`; None for any other text."""
    found = stored_record(Appeal, keys.user(uid), stored, "an appeal") if stored else None
    return found and replace(found, uid=uid)


def open_appeals(store: Store, before: int | None = None) -> tuple[list[Appeal], int | None]:
    """The newest open appeals, or those before a moment in unix seconds: PAGE of them, as `newest_below`. Then the
    `before` of the older ones; None on the last page. Three round trips at most."""
    rows, older = newest_below(store, [keys.appeals()], before, PAGE)
    members = dict(rows)
    uids = [uid for member in members if (uid := stored_id(keys.appeals(), member.partition(":")[0])) is not None]
    texts = answers(store, lambda pipe, uid: pipe.hget(keys.user(uid), "appeal"), uids)
    found = [read_appeal(uid, text) for uid, text in texts.items()]
    return [appeal for appeal in found if appeal is not None and appeal.member in members], older


# ---- Sanctions

MOST_DAYS = 3650  # of a sanction with an end
GRACE = 3600  # seconds between the last moment to lift a suspension and the deletion

# What the end of a sanction and decisions about appeals are called in the log.
LIFTED, GRANTED, REFUSED = "lifted", "appeal:granted", "appeal:refused"


class SanctionsAdmin(Refused):
    message = _("An admin cannot be sanctioned. Take the role away first.")


class TooLate(Refused):
    message = _("The suspension has lasted 30 days: the account is being deleted.")


class NothingImposed(Refused):
    message = _("There is no sanction on this person.")


class SanctionChanged(Refused):
    message = _("The sanction on this person has changed. Look at it again.")


class AppealOutdated(Refused):
    message = _("The restriction on your account has changed. Read it, and send your appeal again.")


class AppealedAlready(Refused):
    message = _("You have appealed already. An appeal can be sent once.")


class NoAppeal(Refused):
    message = _("This person has not appealed.")


class AlreadyDecided(Refused):
    message = _("Someone else has decided this appeal already.")


class SanctionCase(NamedTuple):
    """What is imposed on a user, and what has been said about it."""

    imposed: Sanction
    appeal: Appeal | None
    answer: Act | None  # the decision about the appeal

    @property
    def is_asked(self) -> bool:
        """Whether the appeal waits for a decision."""
        return self.appeal is not None and self.answer is None


class Sanctions(Repository):
    """Imposes and lifts sanctions."""

    def of(self, uid: int) -> Sanction | None:
        """What is imposed on a user now; None when nothing is. One round trip."""
        return sanction_of(uid, self._store.hmget(keys.user(uid), IMPOSED))

    def impose(
        self, uid: int, state: State, reason: str, until: int = 0, by: int = OPERATOR, shown: str | None = None
    ) -> None:
        """Impose a state, instead of the present one. `until`: unix seconds; 0: until it is lifted. `shown`: the act
        whose sanction alone it may replace; empty: none. Fourteen round trips at most. Raises NoSuchUser, also for a
        deleted account; TooLate; SanctionsAdmin; SanctionChanged; LeaseEnded."""
        with alone_with(self._store, uid) as store:
            Sanctions(store).carry_out(Act(what=state, whom=uid, by=by, reason=reason, until=until), shown)

    def carry_out(self, act: Act, shown: str | None = None) -> None:
        """The same with a store of `alone_with`. `act` has the arguments; `what` is the state."""
        store, uid, state = self._store, act.whom, State(act.what)
        stored = store.hgetall(keys.user(uid))
        if not stored.get("username") or "deleted" in stored:
            raise NoSuchUser(str(uid))
        present = case_in(uid, stored)
        _require_in_time(present)
        _require_shown(present, shown)
        if store.hget(keys.staff(), str(uid)) == Role.ADMIN:
            raise SanctionsAdmin
        if state is State.SUSPENDED and not act.until:
            delete_later(store, uid, act.id)
        if act.until:
            follow_end(store, uid, act.until)
        sanction = Sanction(state, act.until, act.reason, act.when, act.id)
        _commit(store, act, stored_sanction(sanction), present)

    def require_shown(self, uid: int, shown: str | None) -> None:
        """Raises SanctionChanged where `carry_out` would. One round trip."""
        _require_shown(self.standing(uid), shown)

    def lift(self, uid: int, by: int = OPERATOR, reason: str = "", shown: str | None = None) -> None:
        """End what is imposed; `shown` as for `impose`: without it, what stands now. Fourteen round trips. Raises
        NoSuchUser, NothingImposed, TooLate, SanctionChanged, LeaseEnded."""
        with alone_with(self._store, uid) as store:
            present = _imposed(store, uid)
            _require_in_time(present)
            _require_shown(present, shown)
            _commit(store, Act(what=LIFTED, whom=uid, by=by, reason=reason), NO_SANCTION, present)

    # ---- appeals

    def appeal(self, uid: int, text: str, shown: str | None = None) -> None:
        """Keep what a person says about what is imposed on them, for staff to decide. Once for each sanction; `shown`:
        the act whose sanction it is about. Commit: the HSET. Eight round trips. Raises NothingImposed, AppealOutdated,
        AppealedAlready, TooLate, LeaseEnded."""
        with alone_with(self._store, uid) as store:
            present = _imposed(store, uid)
            if shown not in (None, present.imposed.act_id):
                raise AppealOutdated
            if present.appeal is not None:
                raise AppealedAlready
            _require_in_time(present)
            appeal = Appeal(present.imposed.act_id, text, int(time.time()), uid)
            job = Outbox(store).add(f"appeal:{uid}:{appeal.act}:{nonce()}")
            if not Users(job.store).write(uid, {"appeal": appeal.stored()}):
                raise NoSuchUser(str(uid))
            with job.ending():
                Sanctions(job.store).queue_appeal(appeal)

    def queue_appeal(self, appeal: Appeal) -> None:
        """What follows the commit of an appeal: its place among the open ones. Three round trips at most. `doctor`
        does so without a job: what it leaves when it dies, `cleanup` removes."""
        self._store.zadd(keys.appeals(), {appeal.member: appeal.at})
        self.keep_if_open(appeal)  # read after the write

    def keep_if_open(self, appeal: Appeal) -> None:
        """Take an appeal out of the queue that is decided, or whose sanction has ended. Two round trips at most."""
        present = self.standing(appeal.uid)
        if present is None or not present.is_asked or present.imposed.act_id != appeal.act:
            self._store.zrem(keys.appeals(), appeal.member)

    def standing(self, uid: int) -> SanctionCase | None:
        """What is imposed on a person, with their appeal and its answer; None when nothing is. One round trip."""
        return case_in(uid, self._store.hgetall(keys.user(uid)))

    def standing_or_end(self, uid: int) -> tuple[SanctionCase | None, Act | None]:
        """As `standing`; and when nothing is imposed, the act of staff that has ended the last sanction, if one has:
        LIFTED or GRANTED. Two round trips at most."""
        found = self.standing(uid)
        last = _last_of(Log(self._store).about(uid)) if found is None else None
        return found, last if last is not None and last.what in (LIFTED, GRANTED) else None

    def last_act(self, uid: int) -> Act | None:
        """The last act that has imposed or ended a sanction, also one whose process was killed before its line was in
        the log. Two round trips, and those of `Log.copy` for such an act."""
        log = Log(self._store)
        log.copy_all(keys.user(uid))
        return _last_of(log.about(uid))

    def imposed_by_acts(self, uid: int) -> Sanction | None:
        """What the acts about a user impose on them now, for a hash that was lost; None when nothing is. Nor for who
        has ever been an admin: a new role ends a sanction, and no act says so. One round trip."""
        acts = Log(self._store).about(uid)
        last = _last_of(acts)
        if last is None or any(act.what == f"role:{Role.ADMIN}" for act in acts):
            return None
        return sanction_of(uid, [last.what, *map(str, (last.until, last.reason, last.when, last.id))])

    def restore(self, uid: int) -> None:
        """Impose again what the acts about a user impose. Six round trips at most; the numbers are left to a
        worker."""
        with alone_with(self._store, uid) as store:
            lost = Sanctions(store).imposed_by_acts(uid)
            if lost is not None and Users(store).write(uid, stored_sanction(lost)):
                recount_later(store, uid)

    def decide_appeal(self, uid: int, granted: bool, by: int, reason: str) -> None:
        """Lift what is imposed, or let it stand. Commit: the HSET of the answer. Fourteen round trips at most. Raises
        NothingImposed, NoAppeal, AlreadyDecided, LeaseEnded."""
        with alone_with(self._store, uid) as store:
            present = _imposed(store, uid)
            if present.appeal is None:
                raise NoAppeal
            if present.answer is not None:
                raise AlreadyDecided
            act = Act(what=GRANTED if granted else REFUSED, whom=uid, by=by, reason=reason)
            act_id = present.imposed.act_id
            job = Outbox(store).add(f"answer:{uid}:{act_id}:{act.id}")
            job.store.hset(keys.user(uid), {answer_of(act_id): act.line()})
            with job.ending():
                Sanctions(job.store).finish_answer(uid, act_id)

    def finish_answer(self, uid: int, act_id: str) -> None:
        """What follows the commit of a decision; also after one that never reached it. Eight round trips at most."""
        answer, present = self._store.hmget(keys.user(uid), [answer_of(act_id), "state_act"])
        act = read_act(keys.user(uid), answer) if answer is not None else None
        if act is not None:
            if act.what == GRANTED and present == act_id:
                Users(self._store).write(uid, NO_SANCTION)
                Memory.clear_all()
            Log(self._store).write(act)
            self._store.zrem(keys.appeals(), f"{uid}:{act_id}")
            if act.what == GRANTED:
                recount_later(self._store, uid)


def alone_with(store: Store, uid: int) -> AbstractContextManager[Store]:
    """For all that reads what is imposed on a person, and then changes it. Round trips and errors as for `alone` of the
    outbox."""
    return alone(store, f"sanctions:{uid}")


def _imposed(store: Store, uid: int) -> SanctionCase:
    present = Sanctions(store).standing(uid)
    if present is None:
        raise NothingImposed
    return present


def _commit(store: Store, act: Act, fields: Mapping[str, str], replaced: SanctionCase | None) -> None:
    uid = act.whom
    job = Outbox(store).add(f"sanction:{uid}:{act.id}")
    if not Users(job.store).write(uid, {**fields, **act.evidence()}):
        job.done()
        raise NoSuchUser(str(uid))
    Memory.clear_all()  # posts and people are cached in many places, and a sanction is rare
    with job.ending():
        if replaced is not None:  # the recount removes one that stays
            job.store.zrem(keys.appeals(), f"{uid}:{replaced.imposed.act_id}")
        _follow_act(job.store, uid, act.id)


def _follow_act(store: Store, uid: int, act_id: str) -> None:
    """What follows the commit; also after a change that never reached it. The numbers are left to a worker."""
    Log(store).copy(keys.user(uid), act_id)
    recount_later(store, uid)


def _last_of(acts: Sequence[Act]) -> Act | None:
    """Of acts, newest first, the last that has imposed or ended a sanction."""
    return next((act for act in acts if act.what in (*State, LIFTED, GRANTED)), None)


def stored_sanction(sanction: Sanction) -> dict[str, str]:
    """As the fields IMPOSED of the person's hash."""
    return dict(zip(IMPOSED, map(str, sanction), strict=True))


def case_in(uid: int, fields: Mapping[str, str]) -> SanctionCase | None:
    """What is imposed on a user now, and what was said about it, from all fields of the user; None when nothing is."""
    present = sanction_of(uid, [*map(fields.get, IMPOSED)])
    if present is None:
        return None
    appeal, line = read_appeal(uid, fields.get("appeal")), fields.get(answer_of(present.act_id))
    answer = read_act(keys.user(uid), line) if line is not None else None
    return SanctionCase(present, appeal if appeal is not None and appeal.act == present.act_id else None, answer)


def delete_later(store: Store | Pipe, uid: int, act_id: str) -> None:
    """Let a worker look in 30 days whether this suspension still stands, and from when it may delete the account
    (`finish_removal`). One round trip; a pipe queues it."""
    job = removal_job(uid, act_id)
    store.zadd(keys.outbox(job), {job: int(time.time()) + SUSPENDED_FOR})


def removal_job(uid: int, act_id: str) -> str:
    return f"removal:{uid}:{act_id}"


def follow_end(store: Store | Pipe, uid: int, until: int) -> None:
    """Let a worker make numbers follow when a sanction ends by itself, at `until` (unix seconds). The job is due STEP
    later: by a clock that is behind, the sanction would not have ended, and the person would not be counted. One round
    trip; a pipe queues it."""
    job = end_job(uid, until)
    store.zadd(keys.outbox(job), {job: until + STEP})


def end_job(uid: int, until: int) -> str:
    """It is no `recount:` before that: `doctor` leaves alone what a recount is at work on."""
    return f"sanction_end:{uid}:{until}"


def people_at_work(_: Store, under_way: Collection[str]) -> set[int]:
    """The people whom numbers may count wrong, since a job is about to make them follow: what staff has done, or that a
    sanction has ended by itself. A backup may be older than that end. For `AtWork`; no round trip."""
    jobs = [job.split(":") for job in under_way]
    followed = [job[1] for job in jobs if len(job) == 2 and job[0] in ("recount", "sanction", "answer")]
    ended = [
        job[1]
        for job in jobs
        if len(job) == 3 and job[0] == "sanction_end" and (parse_number(job[2]) or 0) <= time.time()
    ]
    return {uid for text in (*followed, *ended) if (uid := parse_id(text))}


def recount_later(store: Store | Pipe, uid: int) -> None:
    """Let a worker make all numbers count a person or leave them out. One round trip; a pipe queues it."""
    add_due(store, recount_job(uid))


def recount_job(uid: int) -> str:
    """Each has a name of its own: a worker that ends one has not seen what came meanwhile."""
    return f"recount:{uid}:{nonce()}"


def _require_shown(standing: SanctionCase | None, shown: str | None) -> None:
    """Raises SanctionChanged when something else is imposed than a form has shown."""
    if shown not in (None, standing.imposed.act_id if standing is not None else ""):
        raise SanctionChanged


def _require_in_time(standing: SanctionCase | None) -> None:
    """Raises TooLate for a suspension of 30 days, unless an appeal is open. A worker may delete the account an hour
    later: what has begun in time has ended by then."""
    if standing is None or standing.is_asked or not standing.imposed.deleted_at:
        return
    if standing.imposed.deleted_at <= time.time():
        raise TooLate


def finish_appeal(store: Store, claim: Claim) -> None:
    """The job `appeal:<uid>:<id of the act>:<nonce>`. Four round trips at most."""
    uid = job_id(claim.name, 1)
    appeal = read_appeal(uid, store.hget(keys.user(uid), "appeal"))
    if appeal is not None and appeal.act == claim.name.split(":")[2]:
        Sanctions(store).queue_appeal(appeal)


def finish_answer(store: Store, claim: Claim) -> None:
    """The job `answer:<uid>:<id of the act>:<nonce>`."""
    uid = job_id(claim.name, 1)
    with alone_with(store, uid) as store:
        Sanctions(store).finish_answer(uid, claim.name.split(":")[2])


def finish_sanction(store: Store, claim: Claim) -> None:
    """The job `sanction:<uid>:<id of the act>`."""
    _follow_act(store, job_id(claim.name, 1), claim.name.split(":")[2])


def finish_end(store: Store, claim: Claim) -> None:
    """The job `sanction_end:<uid>:<until>`. One round trip."""
    recount_later(store, job_id(claim.name, 1))


def finish_recount(store: Store, claim: Claim) -> None:
    """The job `recount:<uid>:<nonce>`, after a sanction and at its end: let no appeal wait without a sanction, and make
    all numbers count a person or leave them out. When its turn ends before that, another job goes on below the last
    row: `recount:<uid>:<the word of a kind>:<score>:<id>:<nonce>`."""
    uid, after, reached = job_id(claim.name, 1), claim.name.split(":")[2:-1], list[str]()
    appeal = read_appeal(uid, store.hget(keys.user(uid), "appeal"))
    if appeal is not None:
        Sanctions(store).keep_if_open(appeal)
    if not claim.carry_out_for_a_turn(map(reached.append, _recount(store, uid, after))):
        add_due(store, f"recount:{uid}:{reached[-1]}:{nonce()}")


def _recount(store: Store, uid: int, after: Sequence[str]) -> Iterator[str]:
    """In chunks, below the row that the parts of a job's name tell, or from the beginning. Yields how far each has
    come, as the name of a job tells it; a member that is no id is not named."""
    follows = defaultdict[OfId, list[Callable[[Scored], None]]](list)
    for recount in (one.recount for one in features() if one.recount):
        for kind, follow in recount(store, uid).items():
            follows[kind].append(follow)
    word, last = (after[0], (float(after[1]), after[2])) if after else ("", None)
    for kind in dropwhile(lambda kind: word not in ("", kind.word), follows):
        for rows in newest_first(store, kind(uid), last if kind.word == word else None):
            for follow in follows[kind]:
                follow(rows)
            yield from [f"{kind.word}:{score:.17g}:{id_}" for id_, score in rows if parse_id(id_)][-1:]
