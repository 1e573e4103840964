"""The exceptions of the repositories. `rendering/pages.py` makes a page of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise


class NothingToShow(Exception):
    """What an address names is not there, or not for this viewer. Apps get the same 404 for each of the following."""


class NotFound(NothingToShow):
    """There is no user or post with this name or id, and never was."""

    message: StrPromise = _("There is no user or page at this address.")  # the sentence on the page


class Gone(NothingToShow):
    """A user or post has been deleted, or staff shows nobody a user."""

    title: StrPromise = _("Deleted")  # of the page
    message: StrPromise  # the sentence on the page


class NotShown(NothingToShow):
    """The viewer must not see this user or post: one of the two people blocks the other."""

    message: StrPromise  # the sentence on the page
    undone_at = ""  # the name of the page about the same person on which the viewer can change that; empty: none


class BadCursor(Exception):
    """A `?before=`, or another parameter of an address, that no page of the site contains."""


class TooOften(Exception):
    """A rate limit is exceeded. `limit` is for the log, `message` for the page; `retry_after` in seconds."""

    def __init__(self, limit: str, message: str, retry_after: int) -> None:
        super().__init__(limit)
        self.message = message
        self.retry_after = retry_after


class NoRoom(Exception):
    """The disk of this machine takes no file that the site must write for an answer. Its text is for the log."""


class NotDone(Exception):
    """What somebody wanted cannot be done. Its text says why, and to an operator how it can: a command ends with it."""


class StoreError(Exception):
    """The store did not answer, or refused. The result is unknown: it is neither "found" nor "not found"."""


class StoreRefused(StoreError):
    """The store answered with an error, such as for a hash command on a key that holds a list."""


class StoreReadOnly(StoreRefused):
    """The store answers reads but refuses writes: it is a replica, is out of memory, or its disk fails."""


class IdInUse(StoreRefused):
    """A counter has given out an id a second time, or what is no id: it was lost or damaged, or a server without its
    last numbers took over."""

    def __init__(self, counter: str, number: int) -> None:
        what = f"{counter} has given out {number}, which is in use or no id"
        super().__init__(f"{what}. Repair it with: manage.py doctor --fix")


class OfNewerVersion(StoreRefused):
    """A newer version of the site has written what a job is about, so only a worker of that version finishes it."""


class LeaseEnded(StoreError):
    """This process was too slow for its job, so a worker may have it by now. The command was not sent."""


class WrongClock(StoreError):
    """No id can be made of the time that the clock of this machine tells."""
