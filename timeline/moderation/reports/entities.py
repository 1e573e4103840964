"""Reports: what users tell the staff about a person or a post."""

from enum import StrEnum
from typing import NamedTuple

from accounts.community.log import Act

LONGEST_NOTE = 500  # characters
RULE = "rule:"  # the reason `rule:3` names the third rule of the site
PREFIX = "report:"  # decisions are called so in the log


class Reason(StrEnum):
    """Why something is reported. A rule of the site is a reason too: RULE and its number."""

    SPAM = "spam"
    HARASSMENT = "harassment"
    ILLEGAL = "illegal"
    OTHER = "other"


class Action(StrEnum):
    """What staff decides about a report."""

    DISMISS = "dismissed"
    WARN = "warned"
    DELETE = "post_deleted"
    FREEZE = "frozen"
    HIDE = "hidden"
    SUSPEND = "suspended"


SANCTIONS = (Action.FREEZE, Action.HIDE, Action.SUSPEND)  # each is also the name of a state
TOLD = (Action.WARN, Action.DELETE)  # the reported person is told in a notice; a page of theirs names a sanction


class NewReport(NamedTuple):
    """A report as a user has written it."""

    whom: int  # uid of the reported person, or of the author of the reported post
    pid: int | None  # None: the person is reported
    reason: str  # a Reason, or RULE and a number
    note: str = ""
    rule: str = ""  # the text of the rule
    body: str = ""  # the text of the post as the reporter has seen it

    @property
    def thing(self) -> str:
        """What is reported, in `reports_by:`."""
        return thing_of(self.whom, self.pid)


class Report(NamedTuple):
    """A report as stored."""

    rid: int
    who: int | None  # uid of the reporter; None: the account is deleted
    about: NewReport
    decision: Act | None

    @property
    def when(self) -> int:
        """In unix seconds."""
        return self.rid // 1_000_000

    @property
    def action(self) -> Action | None:
        """What was decided; None for an open report."""
        return action_of(self.decision) if self.decision is not None else None


def thing_of(whom: int, pid: int | None) -> str:
    return f"{whom}:{pid or 0}"


def action_of(act: Act) -> Action | None:
    """The action of a decision, from its act; None for any other act."""
    name = act.what.removeprefix(PREFIX)
    return Action(name) if act.what.startswith(PREFIX) and name in list(Action) else None
