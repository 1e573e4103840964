"""The inspector at the end of a page, as HTML."""

from functools import lru_cache

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from retwis_site.http.language import listed
from retwis_site.inspector.changes import Change, Sent
from retwis_site.inspector.rows import kept_rows, rows
from retwis_site.inspector.steps import Step
from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment
from retwis_site.store.connection.recorder import RoundTrip, Watch

PANEL = Fragment(
    "retwis_site/inspector/_panel.html",
    slots=("commands", "round_trips", "milliseconds", "summary", "change", "of_change", "steps"),
    shape={"has_change": EITHER},
)
SENT = Fragment("retwis_site/inspector/_sent.html", slots=("summary", "steps"), shape={"is_whole": EITHER})
STEP = Fragment("retwis_site/inspector/_step.html", slots=("summary", "sent", "received", "commands"))


def panel(watch: Watch, change: Change | None, language: str) -> bytes:
    """What a page has sent, and what the browser's last form has sent before it."""
    seconds = sum([round_trip.seconds for round_trip in watch.round_trips])
    milliseconds = _milliseconds(seconds)
    return PANEL.fill_as_sent(
        language,
        has_change=change is not None,
        commands=watch.number,
        round_trips=len(watch.round_trips),
        milliseconds=milliseconds,
        summary=_summary(language, watch.number, len(watch.round_trips), milliseconds),
        change=_change_in_words(change) if change else NOTHING,
        of_change=_of_change(change, language) if change else NOTHING,
        steps=b"".join([_step(one, rows(one.commands), language) for one in watch.round_trips]),
    )


def _of_change(change: Change, language: str) -> bytes:
    form = _sent(_form_in_words(change.form, language), change.form, language)
    return b"".join([form, *(_sent(_job_in_words(job, language), job, language) for job in change.jobs)])


def _sent(summary: str, one: Sent, language: str) -> bytes:
    listed = sum(len(step.commands) for step in one.steps)
    steps = b"".join([_step(step, kept_rows(step.commands), language) for step in one.steps])
    return SENT.fill_as_sent(language, summary=summary, steps=steps, is_whole=listed == one.commands)


def _change_in_words(change: Change) -> str:
    """Such as "Your post: 10 round trips, pushed to 18 homes"."""
    everything = (change.form, *change.jobs)
    homes = sum(one.homes for one in everything)
    parts = [_counted_round_trips(change.form.round_trips)]
    if homes:
        parts.append(ngettext("pushed to %(number)d home", "pushed to %(number)d homes", homes) % {"number": homes})
    if change.waits:
        parts.append(_("a worker has not finished yet"))
    return f"{_whose(change.form)}: {listed(*parts)}"


def _form_in_words(form: Sent, language: str) -> str:
    return f"{_whose(form)}: {_summary(language, form.commands, form.round_trips, _milliseconds(form.seconds))}"


def _whose(form: Sent) -> str:
    return _("Your post") if form.what == "publish" else _("Your last change")


def _job_in_words(job: Sent, language: str) -> str:
    summary = _summary(language, job.commands, job.round_trips, _milliseconds(job.seconds))
    words = _("The worker, job %(kind)s: %(summary)s") % {"kind": job.what, "summary": summary}
    if job.jobs < 2:
        return words
    others = job.jobs - 1
    together = ngettext("together with %(number)d other job", "together with %(number)d other jobs", others)
    return listed(words, together % {"number": others})


def _step(step: Step | RoundTrip, listed: bytes, language: str) -> bytes:
    """A round trip. `listed`: its commands, as rows."""
    return STEP.fill_as_sent(
        language,
        summary=_step_in_words(language, len(step.commands), _milliseconds(step.seconds)),
        sent=step.sent,
        received=step.received,
        commands=listed,
    )


@lru_cache(maxsize=1000)
def _summary(language: str, commands: int, round_trips: int, milliseconds: str) -> str:
    """Such as "12 commands, 2 round trips, 0.9 ms". `language` is the active one."""
    return listed(_counted_commands(commands), _counted_round_trips(round_trips), _in_milliseconds(milliseconds))


@lru_cache(maxsize=1000)
def _step_in_words(language: str, commands: int, milliseconds: str) -> str:
    return listed(_counted_commands(commands), _in_milliseconds(milliseconds))


def _counted_commands(number: int) -> str:
    return ngettext("%(number)d command", "%(number)d commands", number) % {"number": number}


def _counted_round_trips(number: int) -> str:
    return ngettext("%(number)d round trip", "%(number)d round trips", number) % {"number": number}


def _in_milliseconds(milliseconds: str) -> str:
    return _("%(number)s ms") % {"number": number_format(milliseconds)}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"
