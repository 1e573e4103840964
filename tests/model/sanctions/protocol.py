"""The protocol of sanctions and appeals, as generators of commands: `accounts/community/sanctions.py` follows it.

One person, "user:2". A sanction is the field `state` with the act that imposed it; `ends` says whether it ends by
itself. `clock` becomes 1 when that end has come, or when a suspension without an end has lasted 30 days.
"""

from tests.model.core import Steps

USER, STAFF, APPEALS, LOG, OUTBOX, CLOCK = "user:2", "staff", "appeals", "log", "outbox", "clock"
NOTHING = ("state", "", "ends", "", "act", "")


def fields_of(stored: tuple) -> dict[str, str]:
    return {str(name): value for name, value in stored}


def act_standing(fields: dict[str, str], is_late: bool) -> str:
    """The act whose sanction stands; empty when none does."""
    return "" if not fields.get("state") or (is_late and fields.get("ends")) else fields.get("act", "")


def is_asked(fields: dict[str, str], act: str) -> bool:
    """Whether an appeal waits for a decision."""
    return fields.get("appeal") == act and f"answer:{act}" not in fields


def is_too_late(fields: dict[str, str], act: str, is_late: bool) -> bool:
    suspended = bool(act) and fields["state"] == "suspended" and not fields["ends"]
    return suspended and is_late and not is_asked(fields, act)


class SanctionProtocol:
    """Each method is a generator of commands. `nonce` is the id of the act."""

    def read(self) -> Steps:
        """The person, and whether it is late: the clock is read in the process, after the reply."""
        stored = yield ("HGETALL", USER)
        clock = yield ("HMGET", CLOCK, "now")
        return stored, bool(clock[0])

    def impose(self, state: str, ends: str, nonce: str) -> Steps:
        stored, is_late = yield from self.read()
        fields = fields_of(stored)
        if "deleted" in fields or is_too_late(fields, act_standing(fields, is_late), is_late):
            return
        role = yield ("HMGET", STAFF, "2")
        if role[0] == "admin":
            return
        if state == "suspended" and not ends:
            yield ("ZADD", OUTBOX, f"removal:{nonce}", 0)
        yield from self.commit(nonce, ("state", state, "ends", ends, "act", nonce))

    def lift(self, nonce: str) -> Steps:
        stored, is_late = yield from self.read()
        fields = fields_of(stored)
        act = act_standing(fields, is_late)
        if "deleted" in fields or not act or is_too_late(fields, act, is_late):
            return
        yield from self.commit(nonce, NOTHING)

    def commit(self, nonce: str, changed: tuple) -> Steps:
        yield ("ZADD", OUTBOX, f"sanction:{nonce}", 0)
        before = yield ("HMGET", USER, "act")
        stands = yield from self.write((*changed, f"act:{nonce}", "line"))
        if not stands:
            yield ("ZREM", OUTBOX, f"sanction:{nonce}")
            return
        yield ("ZREM", APPEALS, before[0])
        yield from self.finish(nonce)

    def write(self, fields: tuple) -> Steps:
        """Both commands are for one key, so they stay in order everywhere."""
        yield ("HSET", USER, *fields)
        deleted = yield ("HMGET", USER, "deleted")
        if deleted[0] is not None:
            yield ("HDEL", USER, *fields[::2])
        return deleted[0] is None

    def finish(self, nonce: str) -> Steps:
        role = yield ("HMGET", STAFF, "2")
        if role[0] == "admin":
            yield from self.write(NOTHING)
        line = yield ("HMGET", USER, f"act:{nonce}")
        if line[0] is not None:
            yield ("ZADD", LOG, nonce, 1)
            yield ("HDEL", USER, f"act:{nonce}")
        yield ("ZREM", OUTBOX, f"sanction:{nonce}")

    def make_admin(self) -> Steps:
        """A role is written before the sanction is read; `tests/model/roles` has the rest."""
        yield ("HSET", STAFF, "2", "admin")
        yield from self.write(NOTHING)

    def appeal(self, nonce: str) -> Steps:
        stored, is_late = yield from self.read()
        fields = fields_of(stored)
        act = act_standing(fields, is_late)
        if "deleted" in fields or not act or fields.get("appeal") == act or is_too_late(fields, act, is_late):
            return
        yield ("ZADD", OUTBOX, f"appeal:{act}:{nonce}", 0)
        stands = yield from self.write(("appeal", act))
        if stands:
            yield from self.queue(act, f"appeal:{act}:{nonce}")

    def queue(self, act: str, job: str) -> Steps:
        yield ("ZADD", APPEALS, act, 1)
        now = yield ("HMGET", USER, f"answer:{act}", "act")
        if now[0] is not None or now[1] != act:
            yield ("ZREM", APPEALS, act)
        yield ("ZREM", OUTBOX, job)

    def decide(self, verdict: str, nonce: str) -> Steps:
        stored, is_late = yield from self.read()
        fields = fields_of(stored)
        act = act_standing(fields, is_late)
        if "deleted" in fields or not act or fields.get("appeal") != act:
            return
        yield ("ZADD", OUTBOX, self.answer_job(act, nonce), 0)
        yield ("HSETNX", USER, f"answer:{act}", f"{verdict}:{nonce}")
        yield from self.finish_answer(act, self.answer_job(act, nonce))

    def answer_job(self, act: str, nonce: str) -> str:
        return f"answer:{act}:{nonce}"

    def finish_answer(self, act: str, job: str) -> Steps:
        stored = yield ("HMGET", USER, f"answer:{act}", "act")
        if stored[0] is not None:
            verdict, _, nonce = stored[0].partition(":")
            if verdict == "granted" and stored[1] == act:
                yield from self.write(NOTHING)
            yield ("ZADD", LOG, nonce, 1)
            yield ("ZREM", APPEALS, act)
        yield ("ZREM", OUTBOX, job)

    def removal(self, act: str) -> Steps:
        """The worker that deletes the account after 30 days, and what of the community goes with it."""
        job = yield ("ZSCORE", OUTBOX, f"removal:{act}")
        if job is None:
            return
        stored, is_late = yield from self.read()
        fields = fields_of(stored)
        answer = fields.get(f"answer:{act}", "")
        if "deleted" in fields or act_standing(fields, is_late) != act:
            yield ("ZREM", OUTBOX, f"removal:{act}")
            return
        if not is_late or self.is_kept(fields, act) or answer.startswith("granted"):
            return  # the job stays for another day
        yield from self.delete()
        yield ("ZREM", OUTBOX, f"removal:{act}")

    def is_kept(self, fields: dict[str, str], act: str) -> bool:
        return is_asked(fields, act)

    def delete(self) -> Steps:
        yield ("HSET", USER, "deleted", "1")
        stored = yield ("HGETALL", USER)
        left = tuple(name for name, _ in stored if name != "deleted")
        yield ("ZREM", APPEALS, fields_of(stored).get("act", ""))
        if left:
            yield ("HDEL", USER, *left)

    def work(self, job: str) -> Steps:
        """A worker finishes one job."""
        due = yield ("ZSCORE", OUTBOX, job)
        if due is None:
            return
        kind, act, *_ = job.split(":")
        if kind == "sanction":
            yield from self.finish(act)
        elif kind == "answer":
            yield from self.finish_answer(act, job)
        elif kind == "appeal":
            stored = yield ("HMGET", USER, "appeal")
            if stored[0] == act:
                yield from self.queue(act, job)
            else:
                yield ("ZREM", OUTBOX, job)
        else:
            yield from self.removal(act)

    def time_passes(self) -> Steps:
        yield ("HSET", CLOCK, "now", 1)


class LookAtTheQueue(SanctionProtocol):
    """An early draft: the removal reads the person, and then the sorted set of open appeals."""

    def removal(self, act: str) -> Steps:
        stored, is_late = yield from self.read()
        fields = fields_of(stored)
        waits = yield ("ZSCORE", APPEALS, act)
        if "deleted" in fields or act_standing(fields, is_late) != act:
            yield ("ZREM", OUTBOX, f"removal:{act}")
            return
        if waits is None and is_late:
            yield from self.delete()
            yield ("ZREM", OUTBOX, f"removal:{act}")


class WithoutEvidence(SanctionProtocol):
    """An early draft: the line is written after the sanction, and nothing of it before."""

    def commit(self, nonce: str, changed: tuple) -> Steps:
        yield ("ZADD", OUTBOX, f"sanction:{nonce}", 0)
        yield ("HSET", USER, *changed)
        yield ("ZADD", LOG, nonce, 1)
        yield ("ZREM", OUTBOX, f"sanction:{nonce}")


class AnswerThenLift(SanctionProtocol):
    """An early draft: no job remembers a decision."""

    def decide(self, verdict: str, nonce: str) -> Steps:
        stored, is_late = yield from self.read()
        act = act_standing(fields_of(stored), is_late)
        if not act or fields_of(stored).get("appeal") != act:
            return
        yield ("HSETNX", USER, f"answer:{act}", f"{verdict}:{nonce}")
        yield from self.finish_answer(act, "none")


class BlindQueue(SanctionProtocol):
    """An early draft: an appeal is queued without a look at its answer."""

    def queue(self, act: str, job: str) -> Steps:
        yield ("ZADD", APPEALS, act, 1)
        yield ("ZREM", OUTBOX, job)


class OneJob(SanctionProtocol):
    """An early draft: two moderators who decide an appeal have one job between them."""

    def answer_job(self, act: str, nonce: str) -> str:
        return f"answer:{act}"
