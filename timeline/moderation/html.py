"""What staff finds behind "More" of a person or a post."""

from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from accounts.users.html import at
from retwis_site.rendering.fragments import Fragment, Html, active_language
from retwis_site.store.client import connect
from timeline.moderation.reports import REPORTS_SHOWN, Reports

MENU = Fragment("timeline/moderation/_menu.html")


def staff_menu(request: RetwisRequest, person: User, pid: int | None) -> Html:
    """Entries of the menu. `pid`: of a post by the person; None: the menu is about the person. Two round trips."""
    reports = Reports(connect()).about(person.uid, REPORTS_SHOWN)
    number = sum(pid in (None, report.about.pid) for report in reports)
    return MENU.fill(
        active_language(),
        has_post=pid is not None,
        has_reports=number > 0,
        at=at(person.username),
        username=person.username,
        pid=pid or 0,
        number=number,
    )
