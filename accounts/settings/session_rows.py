"""The sessions of the viewer, as rows of their page."""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.translation import gettext as _

from accounts.signing_in.sessions.entities import Device, Session, sessions_in
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.rendering.dates import moment
from retwis_site.store import keys
from retwis_site.store.reading import trip


class Moment(NamedTuple):
    """A time for people: `iso` for the attribute of `<time>`, and in words."""

    iso: str
    words: str


class Row(NamedTuple):
    number: str  # of the session
    device: str  # in words
    since: Moment
    used: Moment
    is_here: bool  # the browser that asks


def sessions_of(viewer: Viewer) -> tuple[User, list[Session]]:
    """The signed-in user and their sessions, the most recently used first. Round trips as for `Viewer.ask`. Raises
    NotSignedIn."""
    me, [fields] = viewer.ask_as_user(lambda pipe, me: trip(pipe.hgetall(keys.user(me))))
    return me, sessions_in(fields)


def rows(sessions: Sequence[Session], here: str, language: str) -> list[Row]:
    """The row of the session with the secret `here` stands first."""
    found = [
        Row(
            session.number,
            in_words(session.device),
            Moment(*moment(session.since, language)),
            Moment(*moment(session.used, language)),
            session.secret == here,
        )
        for session in sessions
    ]
    return sorted(found, key=lambda row: not row.is_here)


def in_words(device: Device) -> str:
    if device.browser and device.system:
        return _("%(browser)s on %(system)s") % device._asdict()
    return device.browser or device.system or _("Unknown device")
