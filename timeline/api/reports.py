"""Reports of apps to the staff of this site."""

from typing import TypedDict

from django.utils.translation import gettext as _

from accounts.users.entities import NoSuchUser
from accounts.users.repository import ask_user
from retwis_site.http.sent import Invalid
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from retwis_site.store.ids import parse_id
from retwis_site.store.rate_limits import RateLimits
from retwis_site.store.reading import trip
from timeline.api.calls import Call, Endpoint
from timeline.api.entities import Account, date_time
from timeline.api.reading import accounts_of
from timeline.moderation.feature import REPORTS
from timeline.moderation.reports import LONGEST_NOTE, RULE, NewReport, Reason, Reports
from timeline.posts.reading.one_post import one_post_or_hidden


class ReportMade(TypedDict):
    """https://docs.joinmastodon.org/entities/Report/"""

    id: str
    action_taken: bool
    action_taken_at: None
    category: str
    comment: str
    forwarded: bool
    created_at: str
    status_ids: list[str]
    rule_ids: list[str]
    target_account: Account


CATEGORIES = {"spam": Reason.SPAM, "legal": Reason.ILLEGAL, "violation": Reason.OTHER, "other": Reason.OTHER}
MOST_POSTS = 10  # of one call


def report(call: Call) -> object:
    """Reports the person, or each of the posts: a report of this site is about one thing. Of several rules it names the
    first. Some ten round trips for each post. Raises Invalid, NotFound."""
    sent, uid = call.sent, call.sent.id("account_id") or 0
    me, [person] = call.viewer.ask_as_user(lambda pipe, me: trip(ask_user(pipe, uid)))
    if person is None:
        raise NoSuchUser(str(uid))
    if person.uid == me.uid:
        raise Invalid(_("You cannot report yourself."))
    comment = sent.text("comment") or ""
    if len(comment) > LONGEST_NOTE:
        raise Invalid(f"Comment is longer than {LONGEST_NOTE} characters")
    pids = [parse_id(text) or 0 for text in dict.fromkeys(sent.texts("status_ids"))][:MOST_POSTS]
    posts = [one_post_or_hidden(call.viewer, person.username, pid)[0] for pid in pids]
    category, (reason, rule) = sent.text("category") or "other", _reason(call)
    new = NewReport(uid, None, reason, comment, rule)
    things = [new._replace(pid=post.pid, body=post.body, media=post.media) for post in posts]
    made = [_made(me.uid, one) for one in things or [new]]
    return ReportMade(
        id=str(made[0]),
        action_taken=False,
        action_taken_at=None,
        category=category,
        comment=comment,
        forwarded=False,
        created_at=date_time(made[0] // 1_000_000),
        status_ids=[str(post.pid) for post in posts],
        rule_ids=sent.texts("rule_ids"),
        target_account=accounts_of(connect(), origin_of(call.request), [uid])[uid],
    )


def _reason(call: Call) -> tuple[str, str]:
    """As a report names it, and the text of the rule. Raises Invalid."""
    rules = call.viewer.site.numbered_rules
    chosen = [parse_id(text) or 0 for text in call.sent.texts("rule_ids")]
    if any(not 0 < number <= len(rules) for number in chosen):
        raise Invalid("Rule ids name no rule")
    if chosen:
        return f"{RULE}{chosen[0]}", rules[chosen[0] - 1]
    reason = CATEGORIES.get(call.sent.text("category") or "other")
    if reason is None:
        raise Invalid("Category is not included in the list")
    return reason, ""


def _made(me: int, new: NewReport) -> int:
    """The id of the new report, or of the one that is open already."""
    RateLimits(connect()).count(REPORTS, str(me))
    reports = Reports(connect())
    return reports.make(me, new) or reports.open_by(me, new.thing) or 0


ENDPOINTS = (Endpoint("POST", "/api/v1/reports", report, "write:reports"),)
