"""The inspector at the end of a page, as HTML."""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from retwis_site.inspector.changes import Change, Sent
from retwis_site.inspector.complexity import COMPLEXITY
from retwis_site.inspector.redaction import HIDDEN
from retwis_site.inspector.steps import SentCommand, Step
from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment, Sendable

PANEL = Fragment(
    "retwis_site/inspector/_panel.html",
    slots=("commands", "round_trips", "milliseconds", "summary", "change", "of_change", "steps"),
    shape={"has_change": EITHER},
)
SENT = Fragment("retwis_site/inspector/_sent.html", slots=("summary", "steps"), shape={"is_whole": EITHER})
STEP = Fragment("retwis_site/inspector/_step.html", slots=("summary", "sent", "received", "commands"))
COMMAND = Fragment(
    "retwis_site/inspector/_command.html",
    slots=("name", "address", "key", "arguments", "asker", "complexity", "sent", "received"),
    shape={"linked": EITHER},
)


def panel(page: Sent, change: Change | None, language: str) -> bytes:
    """What a page has sent, and what the browser's last form has sent before it."""
    return PANEL.fill_as_sent(
        language,
        has_change=change is not None,
        commands=page.commands,
        round_trips=page.round_trips,
        milliseconds=_milliseconds(page.seconds),
        summary=_summary(language, page.commands, page.round_trips, _milliseconds(page.seconds)),
        change=_change_in_words(change) if change else NOTHING,
        of_change=_of_change(change, language) if change else NOTHING,
        steps=_steps(page.steps, language),
    )


def _of_change(change: Change, language: str) -> bytes:
    forms = [_sent(_form_in_words(change.form, language), change.form, language)]
    return b"".join(forms + [_sent(_job_in_words(job, language), job, language) for job in change.jobs])


def _sent(summary: str, one: Sent, language: str) -> bytes:
    listed = sum(len(step.commands) for step in one.steps)
    return SENT.fill_as_sent(
        language, summary=summary, steps=_steps(one.steps, language), is_whole=listed == one.commands
    )


def _change_in_words(change: Change) -> str:
    """Such as "Your post: 10 round trips, pushed to 18 homes"."""
    everything = (change.form, *change.jobs)
    homes = sum(one.homes for one in everything)
    parts = [_counted_round_trips(change.form.round_trips)]
    if homes:
        parts.append(ngettext("pushed to %(number)d home", "pushed to %(number)d homes", homes) % {"number": homes})
    if change.waits:
        parts.append(_("a worker has not finished yet"))
    return f"{_whose(change.form)}: {', '.join(parts)}"


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
    return f"{words}, {together % {'number': others}}"


def _steps(steps: Iterable[Step], language: str) -> bytes:
    return b"".join([_step(step, language) for step in steps])


def _step(step: Step, language: str) -> bytes:
    return STEP.fill_as_sent(
        language,
        summary=_step_in_words(language, len(step.commands), _milliseconds(step.seconds)),
        sent=step.bytes_sent,
        received=step.bytes_received,
        commands=b"".join([_command(command, language) for command in step.commands]),
    )


def _command(command: SentCommand, language: str) -> bytes:
    key = command.key
    linked = key != "" and HIDDEN not in key
    row = _row(language, linked, command.name, command.arguments, command.asker)
    address = quote(key, safe=":") if linked else ""
    return row.fill(key=key, address=address, sent=command.bytes_sent, received=command.bytes_received)


@lru_cache(maxsize=2000)  # 2 MB
def _row(language: str, linked: bool, name: str, arguments: tuple[str, ...], asker: str) -> Sendable:
    """A command as a row, without its key and its bytes."""
    return COMMAND.prepare(
        language,
        linked=linked,
        name=name,
        arguments=" ".join(arguments),
        asker=asker,
        complexity=COMPLEXITY.get(name, ""),
    )


@lru_cache(maxsize=1000)
def _summary(language: str, commands: int, round_trips: int, milliseconds: str) -> str:
    """Such as "12 commands, 2 round trips, 0.9 ms". `language` is the active one."""
    return ", ".join([_counted_commands(commands), _counted_round_trips(round_trips), _in_milliseconds(milliseconds)])


@lru_cache(maxsize=1000)
def _step_in_words(language: str, commands: int, milliseconds: str) -> str:
    return ", ".join([_counted_commands(commands), _in_milliseconds(milliseconds)])


def _counted_commands(number: int) -> str:
    return ngettext("%(number)d command", "%(number)d commands", number) % {"number": number}


def _counted_round_trips(number: int) -> str:
    return ngettext("%(number)d round trip", "%(number)d round trips", number) % {"number": number}


def _in_milliseconds(milliseconds: str) -> str:
    return _("%(number)s ms") % {"number": milliseconds}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"
