"""The log of staff: what was done to whom, by whom, when and why.

An act's line is written together with the act, as a field of the hash that the act changes: `act:<id>`. From there it
is copied to the log and to the person's own acts, and the field is removed. The job of the act does so when its process
dies. So no act is without a line, and no line tells of an act that was never done. What has no such job, such as most
commands, writes its line first: then a line may tell of an act that was only begun.
"""

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field

from accounts.users.entities import OPERATOR
from accounts.users.repository import Users
from retwis_site.features import features
from retwis_site.rendering.dates import moment_of
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, newest_below
from retwis_site.store.client import Pipe, Repository, Result
from retwis_site.store.ids import integer, nonce, stored_record

EVIDENCE = "act:"  # what the name of such a field begins with
PAGE = 20
ABOUT_ONE = 500  # acts about a person, of which one decision may be many
LONGEST_REASON = 500  # characters
MAY_BE_ABSENT = ("also", "told")  # from a line, as in those of before
FIRST_YEAR = 2026  # of the log


def _now() -> int:
    return int(time.time() * 1000)


@dataclass(frozen=True, kw_only=True, slots=True)
class Act:
    """An act of staff, and its line in the log."""

    what: str  # such as "frozen", "lifted", "role:moderator", "appeal:refused", "post:deleted"
    by: int = OPERATOR  # uid
    whom: int = 0  # uid; 0: the act is about no person
    post: int = 0  # pid; 0: the act is about no post
    reason: str = ""
    until: int = 0  # unix seconds; 0: without an end
    at: int = field(default_factory=_now)  # unix milliseconds
    id: str = field(default_factory=nonce)
    # What else it is about: of a decision, pids with spaces between, 0 for the person; of a removed picture that nobody
    # may upload again, its digest. The lines of decisions in the log are without it, and without `told`.
    also: str = ""
    told: str = ""  # the moderator's own words to those who have reported; empty: the site's

    @property
    def when(self) -> int:
        """In unix seconds."""
        return self.at // 1000

    def line(self) -> str:
        """As it is stored. The same act always gives the same text, so it can be written twice."""
        return json.dumps(self.fields(), ensure_ascii=False, sort_keys=True)

    def fields(self) -> dict[str, str | int]:
        return {name: value for name, value in asdict(self).items() if value or name not in MAY_BE_ABSENT}

    def evidence(self) -> dict[str, str]:
        """The field of a hash that proves, until the line is in the log, that the act was done."""
        return {evidence_of(self.id): self.line()}


def evidence_of(act_id: str) -> str:
    return f"{EVIDENCE}{act_id}"


def read_act(key: str, line: str) -> Act | None:
    """The act of a stored line, without fields that a newer version has written; None for any other text."""
    return stored_record(Act, key, line)


class Log(Repository):
    """All acts of staff."""

    def write(self, *acts: Act) -> None:
        """Write the lines of acts that were done; can run twice. Two round trips for those about one person; one for
        acts about nobody, three where the account of the person is deleted, none without acts; and those of what
        features do `after_act`."""
        writes = Writes(self._store)
        for act in acts:
            queue_act(writes, act, [act.whom])
        writes.execute()
        for whom in {act.whom for act in acts if act.whom}:
            Users(self._store).keeps(whom, keys.acts(whom))
        for follow in (one.after_act for one in features() if one.after_act is not None):
            for act in (act for act in acts if act.whom):
                follow(self._store, act)

    def copy(self, key: str, act_id: str) -> None:
        """Write the line that stands as evidence in the hash `key`, if the act was done, and remove it there. Two
        round trips besides those of `write`; one without an act."""
        line = self._store.hget(key, evidence_of(act_id))
        if line is None:
            return
        act = read_act(key, line)
        if act is not None:
            self.write(act)
        self._store.hdel(key, evidence_of(act_id))

    def copy_all(self, key: str) -> None:
        """Copy every line that a killed process has left in the hash. One round trip to read the hash, and for each
        line the round trips of `copy`."""
        for name in self._store.hgetall(key):
            if name.startswith(EVIDENCE):
                self.copy(key, name.removeprefix(EVIDENCE))

    def page(self, before: int | None = None) -> tuple[list[Act], int | None]:
        """The newest acts, or those before a moment in unix milliseconds; with all of the last millisecond, since a
        decision about many posts has one moment. Then the `before` of the older ones; None on the last page. Two round
        trips at most."""
        rows, older = newest_below(self._store, parts_of_log(before), before, PAGE)
        return _read([(keys.log(year_of(integer(at))), line) for line, at in rows]), older

    def at(self, when: int) -> list[Act]:
        """The acts of a moment in unix milliseconds. One round trip."""
        key = keys.log(year_of(when))
        return _read([(key, line) for line in self._store.zrevrangebyscore(key, str(when), str(when), AT_ONCE)])

    def about(self, uid: int) -> list[Act]:
        """The newest ABOUT_ONE acts about one person. One round trip."""
        lines = self._store.zrevrange(keys.acts(uid), 0, ABOUT_ONE - 1)
        return _read([(keys.acts(uid), line) for line in lines])


def ask_acts_at(pipe: Pipe, uid: int, when: int) -> Result[list[Act]]:
    """The acts about one person of a moment in unix milliseconds. One command."""
    key = keys.acts(uid)
    lines = pipe.zrevrangebyscore(key, str(when), str(when), AT_ONCE)
    return Result(lambda: _read([(key, line) for line in lines.value]))


def queue_act(writes: Writes, act: Act, people: Collection[int]) -> None:
    """Add the line of an act to the log, and to the acts about the person, who is one of `people`: of a deleted account
    nothing but the log tells."""
    for key in (keys.log(year_of(act.at)), *([keys.acts(act.whom)] if act.whom and act.whom in people else ())):
        writes.zadd(key, {act.line(): act.at})


def _read(found: Sequence[tuple[str, str]]) -> list[Act]:
    return [act for key, line in found if (act := read_act(key, line)) is not None]


def parts_of_log(before: int | None = None) -> list[str]:
    """The keys of the log up to a moment in unix milliseconds, newest first. Without one, that of the next year too: a
    clock may have been ahead, or be behind."""
    newest = year_of(_now()) + 1 if before is None else year_of(before)
    return [keys.log(year) for year in range(newest, FIRST_YEAR - 1, -1)]


def year_of(milliseconds: int) -> int:
    """The year of a moment, by which the log is split; from FIRST_YEAR to 9999."""
    return max(moment_of(integer(milliseconds) // 1000).year, FIRST_YEAR)
