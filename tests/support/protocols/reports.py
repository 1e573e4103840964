"""Reports and staff for tests."""

from accounts.community.roles import Roles
from accounts.users.entities import Role
from timeline.moderation.reports.entities import NewReport
from timeline.moderation.reports.repository import Reports

ALICE, BOB, CAROL = 1, 2, 3


def report(store, who, whom, pid=None, **fields):
    """Report a person or a post as spam; returns the report."""
    new = NewReport(whom, pid, **{"reason": "spam", "body": "Buy!" if pid else "", **fields})
    assert Reports(store).make(who, new)
    return Reports(store).open(None, 1)[0]


def make_moderator(store, uid):
    Roles(store).give(uid, Role.MODERATOR)


def make_admin(store, uid):
    Roles(store).give(uid, Role.ADMIN)
