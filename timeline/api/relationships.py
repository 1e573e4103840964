"""What the viewer and other people are to each other, and what changes it: follow, block, mute; and reports."""

import time
from collections.abc import Callable, Collection

from django.utils.translation import gettext as _

from accounts.users.entities import NoSuchUser, User
from accounts.users.repository import ask_people, ask_user
from retwis_site.http.apps import Forbidden, Invalid
from retwis_site.rendering.pages import origin_of
from retwis_site.store import keys
from retwis_site.store.chunks import answer
from retwis_site.store.client import Pipe, Store, connect
from retwis_site.store.ids import parse_id
from retwis_site.store.rate_limits import RateLimits
from retwis_site.store.replies import Result, trip
from timeline.api.calls import Call, Endpoint
from timeline.api.entities import Entity, date_time
from timeline.api.reading import accounts_of
from timeline.moderation.feature import REPORTS
from timeline.moderation.reports import LONGEST_NOTE, RULE, NewReport, Reason, Reports
from timeline.posts.reading.records import one_post_or_hidden
from timeline.relations.actions import why_not_followed
from timeline.relations.feature import BLOCKS, FOLLOWS
from timeline.relations.relations import (
    FOREVER,
    Between,
    BlockedPeople,
    Blocks,
    Follows,
    Hiding,
    Mutes,
    ask_blocks,
)


def ask_between_each(pipe: Pipe, me: int, people: Collection[int]) -> Result[dict[int, Between]]:
    """What `me` and each of these people, at least one, are to each other. Six commands."""
    members, now = [str(uid) for uid in people], time.time()
    sets = (keys.following, keys.followers, keys.blocked, keys.blocked_by, keys.muted, keys.muted_reposts)
    asked = [pipe.zmscore(key(me), members) for key in sets]

    def read() -> dict[int, Between]:
        rows = zip(*(scores.value for scores in asked), strict=True)
        return {uid: of_one(*row) for uid, row in zip(people, rows, strict=True)}

    def of_one(*scores: float | None) -> Between:
        follows, followed, blocks, blocked = [score is not None for score in scores[:4]]
        muted, reposts = [until is not None and until > now for until in scores[4:]]
        return Between(follows, followed, Hiding(Blocks(blocks, blocked), muted, reposts))

    return Result(read)


# ---- The entity


def relationship_of(uid: int, between: Between) -> Entity:
    """https://docs.joinmastodon.org/entities/Relationship/ A muted person causes no notices, either. What this site has
    not is false."""
    hiding = between.hiding
    return {
        "id": str(uid),
        "following": between.following,
        "showing_reblogs": between.following and not hiding.reposts_muted,
        "notifying": False,
        "languages": [],
        "followed_by": between.follows_me,
        "blocking": hiding.blocks.mine,
        "blocked_by": hiding.blocks.theirs,
        "muting": hiding.muted,
        "muting_notifications": hiding.muted,
        "requested": False,
        "requested_by": False,
        "domain_blocking": False,
        "endorsed": False,
        "note": "",
    }


MOST = 100  # people of one call


def relationships(call: Call) -> object:
    """Those of the people who exist, in the order in which they were asked for. One round trip."""
    uids = call.sent.ids("id")[:MOST]
    if not uids:
        return []
    _, (people, between) = call.viewer.ask_as_user(
        lambda pipe, me: trip(ask_people(pipe, uids), ask_between_each(pipe, me, uids))
    )
    return [relationship_of(uid, between[uid]) for uid in uids if uid in people]


# ---- What changes it. Each change finds the person in one round trip, and reads the relationship anew in another.


def _found(call: Call) -> tuple[User, User, Blocks]:
    """The viewer, the person in the address, and the blocks between the two. Raises NoSuchUser."""
    uid = call.id
    me, (person, blocks) = call.viewer.ask_as_user(
        lambda pipe, me: trip(ask_user(pipe, uid), ask_blocks(pipe, me, uid))
    )
    if person is None:
        raise NoSuchUser(str(uid))
    return me, person, blocks


def _now(me: User, person: User) -> Entity:
    return relationship_of(person.uid, answer(connect(), ask_between_each, me.uid, [person.uid])[person.uid])


def follow(call: Call) -> object:
    """With `reblogs=false` the person's reposts are muted. Posts of one person alone are never news: `notify` changes
    nothing."""
    me, person, blocks = _found(call)
    if why := why_not_followed(me, person, blocks):
        raise Forbidden(why)
    RateLimits(connect()).count(FOLLOWS, str(me.uid))
    Follows(connect()).follow(me.uid, person.uid)
    if "reblogs" in call.sent:
        mutes = Mutes(connect())
        (mutes.unmute_reposts if call.sent.flag("reblogs") else mutes.mute_reposts)(me.uid, person.uid)
    return _now(me, person)


def block(call: Call) -> object:
    me, person, _blocks = _found(call)
    if person.uid == me.uid:
        raise Forbidden(_("You cannot block yourself."))
    RateLimits(connect()).count(BLOCKS, str(me.uid))
    BlockedPeople(connect()).block(me.uid, person.uid)
    return _now(me, person)


LONGEST_MUTE = 100 * 365 * 24 * 3600  # seconds


def mute(call: Call) -> object:
    """For `duration` seconds; 0: until it is undone."""
    me, person, _blocks = _found(call)
    if person.uid == me.uid:
        raise Forbidden(_("You cannot mute yourself."))
    given = call.sent.text("duration") or "0"
    seconds = 0 if given == "0" else call.sent.number("duration", 1, LONGEST_MUTE)
    RateLimits(connect()).count(BLOCKS, str(me.uid))
    Mutes(connect()).mute(me.uid, person.uid, time.time() // 1 + seconds if seconds else FOREVER)
    return _now(me, person)


def _undo(act: Callable[[Store, int, int], None]) -> Callable[[Call], object]:
    """An undo is never limited."""

    def undo(call: Call) -> object:
        me, person, _blocks = _found(call)
        act(connect(), me.uid, person.uid)
        return _now(me, person)

    return undo


unfollow = _undo(lambda store, me, them: Follows(store).unfollow(me, them))
remove_from_followers = _undo(lambda store, me, them: Follows(store).unfollow(them, me))
unblock = _undo(lambda store, me, them: BlockedPeople(store).unblock(me, them))
unmute = _undo(lambda store, me, them: Mutes(store).unmute(me, them))

# ---- Reports


CATEGORIES = {"spam": Reason.SPAM, "legal": Reason.ILLEGAL, "violation": Reason.OTHER, "other": Reason.OTHER}
MOST_POSTS = 10  # of one call


def report(call: Call) -> object:
    """Reports the person, or each of the posts: a report of this site is about one thing. Of several rules it names the
    first. Some ten round trips for each post. Raises Invalid, NotFound.
    https://docs.joinmastodon.org/entities/Report/"""
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
    return {
        "id": str(made[0]),
        "action_taken": False,
        "action_taken_at": None,
        "category": category,
        "comment": comment,
        "forwarded": False,
        "created_at": date_time(made[0] // 1_000_000),
        "status_ids": [str(post.pid) for post in posts],
        "rule_ids": sent.texts("rule_ids"),
        "target_account": accounts_of(connect(), origin_of(call.request), [uid])[uid],
    }


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


ENDPOINTS = (
    Endpoint("GET", "/api/v1/accounts/relationships", relationships, "read:follows"),
    Endpoint("POST", "/api/v1/accounts/:id/follow", follow, "write:follows"),
    Endpoint("POST", "/api/v1/accounts/:id/unfollow", unfollow, "write:follows"),
    Endpoint("POST", "/api/v1/accounts/:id/remove_from_followers", remove_from_followers, "write:follows"),
    Endpoint("POST", "/api/v1/accounts/:id/block", block, "write:blocks"),
    Endpoint("POST", "/api/v1/accounts/:id/unblock", unblock, "write:blocks"),
    Endpoint("POST", "/api/v1/accounts/:id/mute", mute, "write:mutes"),
    Endpoint("POST", "/api/v1/accounts/:id/unmute", unmute, "write:mutes"),
    Endpoint("POST", "/api/v1/reports", report, "write:reports"),
)
