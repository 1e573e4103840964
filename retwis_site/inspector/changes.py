"""What was sent to Redis: by a page, by the last form of a browser, and by workers for the jobs that it has left.

The page after a form may come from another process, and jobs are always done by another one. So each writes what it
has sent into a key that expires after a minute, and a cookie tells the browser's next pages which keys these are.
"""

import json
import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.core.signing import BadSignature, Signer

from retwis_site.exceptions import StoreError
from retwis_site.store import keys, kinds
from retwis_site.store.client import Repository, Store, for_each
from retwis_site.store.connection.recorder import Recording, RoundTrip, watching
from retwis_site.store.ids import digest_of
from retwis_site.telemetry.redaction import ShownCommand, shown_round_trips

logger = logging.getLogger("retwis.store")

COOKIE = f"{settings.COOKIE_PREFIX}inspected"
SECONDS = keys.inspected.lives
MOST_JOBS = 8  # of one form, whose work is shown
LONGEST = 400  # characters of the cookie's value

_signer = Signer(salt="inspected")


class Sent(NamedTuple):
    """What a form or a job has sent. `what`: the name of the form's view, or the kind of the job."""

    what: str
    commands: int
    round_trips: int
    seconds: float
    pushes: int  # commands that push a post into a home timeline, also into one that does not exist
    jobs: int  # how many jobs a worker has done together; 0 for a form
    recorded: tuple[RoundTrip[ShownCommand], ...]  # the first ones, when there are very many commands


@dataclass(frozen=True)
class Change:
    """The last form, with the jobs that workers have finished since."""

    form: Sent
    jobs: tuple[Sent, ...]
    waits: bool  # a job is not finished yet


def sent(what: str, watch: Recording, jobs: int = 0) -> Sent:
    """What was recorded. Of jobs that were done together only the numbers: their commands are about many people."""
    recorded = tuple(shown_round_trips(watch))
    return Sent(
        what,
        watch.number,
        len(recorded),
        sum(one.seconds for one in recorded),
        sum(command.name == "LPUSHX" for one in recorded for command in one.commands) + watch.left_out.get("LPUSHX", 0),
        jobs,
        recorded if jobs < 2 else (),
    )


class Changes(Repository):
    """The records of forms and jobs. A job is named by a digest: its own name may have a secret in it."""

    def note_form(self, what: str, watch: Recording) -> str:
        """Keep what a form has sent; returns the cookie for the browser's next pages. One round trip."""
        token = secrets.token_urlsafe(16)
        self._write([token], sent(what, watch))
        return _signer.sign(" ".join([token, *map(digest_of, _left_jobs(watch))]))

    def note_jobs(self, names: Sequence[str], watch: Recording) -> None:
        """Keep what a worker has sent for jobs that it has done together. One round trip."""
        self._write([*map(digest_of, names)], sent(names[0].partition(":")[0], watch, len(names)))

    def read(self, cookie: str) -> Change | None:
        """The change that a cookie names; None when there is none any more. One round trip; none for a cookie that is
        not of this site."""
        try:
            form, *jobs = _signer.unsign(cookie[:LONGEST]).split(" ")
        except BadSignature:
            return None
        try:
            with self._store.pipeline() as pipe:
                stored = [pipe.get(keys.inspected(what)) for what in (form, *jobs)]
        except StoreError as error:  # the page goes on, and may say more about it
            logger.error("%s", error)
            return None
        own, *done = [_parsed(text.value) for text in stored]
        if own is None:
            return None
        return Change(own, tuple(job for job in done if job is not None), None in done)

    def _write(self, names: Sequence[str], record: Sent) -> None:
        text = json.dumps(record, default=astuple)
        try:
            for_each(self._store, lambda pipe, name: pipe.set_ex(keys.inspected(name), text, SECONDS), names)
        except StoreError as error:  # what was done is done, and needs no record
            logger.error("%s", error)


@contextmanager
def noted(store: Store, jobs: Sequence[str]) -> Iterator[None]:
    """A block in which a worker does these jobs. With INSPECT, what it sends is kept; one round trip for each job."""
    if not settings.INSPECT:
        yield
        return
    with watching() as watch:
        yield
    Changes(store).note_jobs(jobs, watch)


def _left_jobs(watch: Recording) -> list[str]:
    """The jobs that were added to the outbox and not removed again: a worker does them. Without those that are due when
    the record has expired, such as that of an upload, which looks at it after a day."""
    left: dict[str, float] = {}  # when each is due, in unix seconds
    for name, key, *arguments in (command for command in watch.commands if len(command) > 2):
        if (kind := kinds.kind_of(str(key))) is None or kind.word != keys.outbox.word:
            continue
        if name == "ZADD":
            left[str(arguments[-1])] = float(str(arguments[-2]))
        elif name == "ZREM":
            left.pop(str(arguments[0]), None)
    expires = time.time() + SECONDS
    return [job for job, due in left.items() if due <= expires][:MOST_JOBS]


def _parsed(text: str | None) -> Sent | None:
    """A stored record; None for what is none."""
    with suppress(ValueError, TypeError):
        what, commands, round_trips, seconds, pushes, jobs, recorded = json.loads(text or "")
        numbers = int(commands), int(round_trips), float(seconds), int(pushes), int(jobs)
        return Sent(str(what), *numbers, tuple(map(_round_trip, recorded)))
    return None


def _round_trip(stored: Any) -> RoundTrip[ShownCommand]:
    commands, number, seconds, bytes_sent, bytes_received = stored
    return RoundTrip(tuple(map(_command, commands)), int(number), float(seconds), int(bytes_sent), int(bytes_received))


def _command(stored: Any) -> ShownCommand:
    name, key, arguments, asker = stored
    return ShownCommand(str(name), str(key), tuple(map(str, arguments)), str(asker))
