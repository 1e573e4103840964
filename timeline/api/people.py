"""People: the viewer's own account and those of others, their followers, and what the viewer and others are to each
other; reports."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.facts.facts import MOST_FACTS, Fact, save_profile
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import Pictures
from accounts.settings.views import EDITS, SettingsForm
from accounts.signing_in.viewer import ReaderAbout
from accounts.users.entities import NoSuchUser, Role, User
from accounts.users.repository import ask_people, ask_user
from retwis_site.exceptions import NotFound, NothingToShow
from retwis_site.http.apps import Forbidden, Invalid
from retwis_site.rendering.pages import lasting_origin
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Result, Store, answer, both, connect, trip
from retwis_site.store.ids import parse_id
from timeline.api.calls import Call, Endpoint, Listed, number_of, valid
from timeline.api.entities import Entity, Profile, account_of, date_time
from timeline.api.reading import accounts_of, read_accounts, read_profile_now
from timeline.moderation.reports import RULE, NewReport, Reason, Reports
from timeline.moderation.views import REPORTS, ReportForm
from timeline.people.directory import FollowPages, Hides, People, Side, ends, hidden_part, search_query
from timeline.people.in_common import known_followers
from timeline.people.lists import Cursor, ListedPerson
from timeline.posts.reading.records import one_post_or_hidden
from timeline.posts.reading.visibility import hidden_among, unseen_by
from timeline.relations import relations
from timeline.relations.actions import why_not_followed
from timeline.relations.feature import BLOCKS, FOLLOWS
from timeline.relations.relation import ask_among

# ---- What the viewer and other people are to each other, and what changes it: follow, block, mute; and reports.


def ask_between_each(pipe: Pipe, me: int, people: Collection[int]) -> Result[dict[int, relations.Between]]:
    """What `me` and each of these people, at least one, are to each other. Six commands."""
    members = [str(uid) for uid in people]
    sets = (keys.following, keys.followers, keys.blocked, keys.blocked_by, keys.muted, keys.muted_reposts)
    asked = [pipe.zmscore(key(me), members) for key in sets]

    def read() -> dict[int, relations.Between]:
        rows = zip(*(scores.value for scores in asked), strict=True)
        return {uid: relations.between(row) for uid, row in zip(people, rows, strict=True)}

    return Result(read)


# ---- The entity


def relationship_of(uid: int, between: relations.Between) -> Entity:
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


MOST_RELATED = 100  # people of one call


def relationships(call: Call) -> object:
    """Those of the people who exist, in the order in which they were asked for. One round trip."""
    uids = call.sent.ids("id")[:MOST_RELATED]
    if not uids:
        return []
    _, (people, between) = call.viewer.ask_as_user(
        lambda pipe, me: trip(ask_people(pipe, uids), ask_between_each(pipe, me, uids))
    )
    return [relationship_of(uid, between[uid]) for uid in uids if uid in people]


# ---- What changes it. Each change finds the person in one round trip, and reads the relationship anew in another.


def _found(call: Call) -> tuple[User, User, relations.Blocks]:
    """The viewer, the person in the address, and the blocks between the two. Raises NoSuchUser."""
    uid = call.id
    me, (person, blocks) = call.viewer.ask_as_user(
        lambda pipe, me: trip(ask_user(pipe, uid), relations.ask_blocks(pipe, me, uid))
    )
    if person is None:
        raise NoSuchUser(str(uid))
    return me, person, blocks


def _now(me: User, person: User) -> Entity:
    return relationship_of(person.uid, answer(connect(), relations.ask_between, me.uid, person.uid))


def follow(call: Call) -> object:
    """With `reblogs=false` the person's reposts are muted. Posts of one person alone are never news: `notify` changes
    nothing."""
    me, person, blocks = _found(call)
    if why := why_not_followed(me, person, blocks):
        raise Forbidden(why)
    shows_reposts = call.sent.flag("reblogs")  # raises before anything is changed
    FOLLOWS.count(connect(), me.uid)
    relations.Follows(connect()).follow(me.uid, person.uid)
    if "reblogs" in call.sent:
        mutes = relations.Mutes(connect())
        (mutes.unmute_reposts if shows_reposts else mutes.mute_reposts)(me.uid, person.uid)
    return _now(me, person)


def block(call: Call) -> object:
    me, person, _blocks = _found(call)
    if person.uid == me.uid:
        raise Forbidden(_("You cannot block yourself."))
    BLOCKS.count(connect(), me.uid)
    relations.BlockedPeople(connect()).block(me.uid, person.uid)
    return _now(me, person)


LONGEST_MUTE = 100 * 365 * 24 * 3600  # seconds


def mute(call: Call) -> object:
    """For `duration` seconds; 0: until it is undone. Raises Invalid."""
    me, person, _blocks = _found(call)
    if person.uid == me.uid:
        raise Forbidden(_("You cannot mute yourself."))
    seconds = min(call.sent.whole("duration"), LONGEST_MUTE)
    BLOCKS.count(connect(), me.uid)
    relations.Mutes(connect()).mute(me.uid, person.uid, time.time() // 1 + seconds if seconds else relations.FOREVER)
    return _now(me, person)


def _undo(act: Callable[[Store, int, int], None], call: Call) -> object:
    """An undo is never limited."""
    me, person, _blocks = _found(call)
    act(connect(), me.uid, person.uid)
    return _now(me, person)


unfollow = partial(_undo, lambda store, me, them: relations.Follows(store).unfollow(me, them))
remove_from_followers = partial(_undo, lambda store, me, them: relations.Follows(store).unfollow(them, me))
unblock = partial(_undo, lambda store, me, them: relations.BlockedPeople(store).unblock(me, them))
unmute = partial(_undo, lambda store, me, them: relations.Mutes(store).unmute(me, them))

# ---- Reports


CATEGORIES = {"spam": Reason.SPAM, "legal": Reason.ILLEGAL, "violation": Reason.OTHER, "other": Reason.OTHER}
MOST_POSTS = 10  # of one call


def report(call: Call) -> object:
    """Reports the person, or each of the posts: a report of this site is about one thing. Reposts alone: the person,
    since staff can delete no repost. Of several rules it names the first. Some ten round trips for each post. Raises
    Invalid, NotFound.
    https://docs.joinmastodon.org/entities/Report/"""
    sent, uid = call.sent, call.sent.id("account_id") or 0
    me, [person] = call.viewer.ask_as_user(lambda pipe, me: trip(ask_user(pipe, uid)))
    if person is None:
        raise NoSuchUser(str(uid))
    if person.uid == me.uid:
        raise Invalid(_("You cannot report yourself."))
    try:
        comment = ReportForm.base_fields["note"].clean(sent.text("comment") or "")  # as the page takes it
    except ValidationError as error:
        raise Invalid(f"Comment: {' '.join(error.messages)}") from error
    pids = [parse_id(text) or 0 for text in dict.fromkeys(sent.texts("status_ids"))][:MOST_POSTS]
    shown = [one_post_or_hidden(call.viewer, person.username, pid)[0] for pid in pids]
    posts = [post for post in shown if post.links.repost_of is None]
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
        "target_account": accounts_of(call, [uid])[uid],
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
    REPORTS.count(connect(), me)
    reports = Reports(connect())
    return reports.make(me, new) or reports.open_by(me, new.thing) or 0


# ---- The viewer's own account


ROLES = {Role.MEMBER: ("-99", ""), Role.MODERATOR: ("1", "Moderator"), Role.ADMIN: ("3", "Admin")}
PERMISSIONS = "0"  # no app moderates this site


def _own(call: Call) -> tuple[User, tuple[User, Profile]]:
    """The viewer, and what their account shows now. One round trip, two while a date is not cached."""
    return call.viewer.ask_as_user(lambda pipe, me: read_profile_now(pipe, me, me))


def _source(bio: str, facts: Sequence[Fact]) -> Entity:
    """What the viewer has typed, to be edited."""
    fields = [
        {"name": fact.label, "value": fact.value, "verified_at": date_time(fact.verified) if fact.verified else None}
        for fact in facts
    ]
    return {
        "note": bio,
        "fields": fields,
        "privacy": "public",
        "sensitive": False,
        "language": "",
        "quote_policy": "public",
        "hide_collections": False,
        "discoverable": True,
        "indexable": True,
        "attribution_domains": [],
        "follow_requests_count": 0,
    }


def verify_credentials(call: Call) -> object:
    """https://docs.joinmastodon.org/entities/Account/#CredentialAccount"""
    _, (user, profile) = _own(call)
    number, name = ROLES[call.viewer.checked.role]
    role = {"id": number, "name": name, "color": "", "permissions": PERMISSIONS, "highlighted": bool(name)}
    account = account_of(call.origin, user, profile)
    return {**account, "source": _source(profile.bio, profile.facts), "role": role}


# Settings of Mastodon that keep an account from others, by the value that does.
HIDING = {"locked": True, "discoverable": False, "indexable": False, "hide_collections": True}
PICTURES = {"avatar": ProfilePicture.PICTURE, "header": ProfilePicture.HEADER}  # by their names in calls


def update_credentials(call: Call) -> object:
    """What is not sent stays. Of the rest of Mastodon's settings the site has none: they are taken and change nothing,
    as the answer says. But what would keep something from others is refused."""
    sent = call.sent
    if any(sent.text(name) and sent.flag(name) is hides for name, hides in HIDING.items()):
        raise Invalid("All accounts are public here. Nothing was changed")
    if sent.text("source[privacy]") in ("private", "direct"):
        raise Invalid("All posts are public here. Nothing was changed")
    if any(sent.text(name) for name in PICTURES):
        raise Invalid("A picture is sent as a file")
    me, (user, present) = _own(call)
    fields = sent.objects("fields_attributes") or ([] if "fields_attributes" in sent else None)
    has_texts = "display_name" in sent or "note" in sent or fields is not None
    form = valid(_profile_form(call, user.name, present.bio, fields)) if has_texts else None
    _choose_pictures(me, {kind: sent.files[name] for name, kind in PICTURES.items() if name in sent.files})
    if form is not None:
        EDITS.count(connect(), me.uid)
        profile = lasting_origin(call.request) + reverse("profile", args=[me.username])
        save_profile(connect(), me, form.cleaned_data["name"], form.cleaned_data["bio"], form.facts(), profile)
    return verify_credentials(call)


def _choose_pictures(me: User, files: Mapping[ProfilePicture, Any]) -> None:
    """All are uploaded before one is chosen: a refused one changes nothing. Round trips for each: those of
    `Pictures.upload`, of `ProfilePictures.choose`, and one for the rate limit. Raises PictureRefused."""
    uploaded: dict[ProfilePicture, str] = {}
    for kind, file in files.items():
        EDITS.count(connect(), me.uid)
        uploaded[kind] = Pictures(connect()).upload(me.uid, file.read(), kind.shape).digest
    for kind, digest in uploaded.items():
        ProfilePictures(connect()).choose(me.uid, kind, digest)


def remove_picture(kind: ProfilePicture, call: Call) -> object:
    me = call.viewer.require_user()
    ProfilePictures(connect()).remove(me.uid, kind)
    return verify_credentials(call)


def _profile_form(call: Call, name: str, bio: str, fields: Sequence[dict[str, str]] | None) -> SettingsForm:
    """The form of the settings, filled with what was sent, and with what stays; None: the fields do. Raises Invalid."""
    typed = QueryDict(mutable=True)
    for field, sent, present in (("name", "display_name", name), ("bio", "note", bio)):
        given = call.sent.text(sent)
        typed[field] = present if given is None else given
    filled = [one for one in fields or () if one.get("name") or one.get("value")]
    if len(filled) > MOST_FACTS:
        raise Invalid(f"A profile has at most {MOST_FACTS} fields")
    for number in range(0 if fields is None else MOST_FACTS):
        one = filled[number] if number < len(filled) else {}
        typed[f"label_{number + 1}"], typed[f"value_{number + 1}"] = one.get("name", ""), one.get("value", "")
    return SettingsForm(typed, ())


# ---- Accounts


def _read_findable(pipe: Pipe, me: int | None, uid: int) -> Reading[tuple[User, Profile]]:
    """As `read_profile_now`, of a person whom a list may name. One more round trip for one whom staff has hidden."""
    user, profile = yield from read_profile_now(pipe, me, uid)
    if (yield from unseen_by(pipe, me, hidden_among([user]))):
        raise NoSuchUser(user.username)
    return user, profile


def account(call: Call) -> object:
    found = call.viewer.ask(lambda pipe, me: read_profile_now(pipe, me, call.id))
    return account_of(call.origin, *found)


def lookup(call: Call) -> object:
    """By `acct`: a username of this site, with or without its host."""
    name = name_in(call, call.sent.text("acct") or "")
    if name is None:
        raise NotFound
    return account_named(call, name)


def account_named(call: Call, username: str, read: ReaderAbout[tuple[User, Profile]] = read_profile_now) -> Entity:
    """Round trips and errors of `read`; also AccountDeleted."""
    _, found = call.viewer.ask_about(username, read)
    return account_of(call.origin, *found)


def name_in(call: Call, acct: str) -> str | None:
    """The username in `ann`, `@ann` and `ann@this.site`; None for one of another site, and for an empty text."""
    name, _, host = acct.strip().removeprefix("@").partition("@")
    return name or None if not host or host.lower() == call.request.get_host().lower() else None


MOST = 40  # accounts of one call


def accounts(call: Call) -> object:
    """Those of the asked for accounts that the viewer sees."""
    uids = call.sent.ids("id")[:MOST]
    [blocking], found = call.viewer.ask(
        lambda pipe, me: both(trip(ask_among(pipe, keys.blocked_by, me, uids)), read_accounts(pipe, call.origin, uids))
    )
    return [one for uid, one in found.items() if uid not in blocking]


def search(call: Call) -> object:
    return accounts_found(call, call.sent.text("q") or "")


def accounts_found(call: Call, typed: str) -> list[Entity]:
    """The people of this site whom a text means, as on the page that finds people: at most `limit`, from `offset` on.
    Whoever has exactly this name comes first, also when the viewer mutes or blocks them: apps find people so before
    they undo it. Whom staff has hidden is found by their followers alone."""
    name = name_in(call, typed) if "@" in typed.strip()[1:] else typed
    query = search_query(name or "")
    first, limit = call.sent.whole("offset"), call.sent.number("limit", MOST, MOST)
    found = People(connect()).search(call.viewer, query).people if query else []
    if call.sent.flag("following"):
        return accounts_listed(call, [one for one in found if one.following][first : first + limit])
    named: list[Entity] = []
    if query and not any(one.user.username.lower() == query.lower() for one in found):
        with suppress(NothingToShow):
            named = [account_named(call, query, _read_findable)]
    others = found[max(0, first - len(named)) : first + limit - len(named)]
    return [*named[first : first + limit], *accounts_listed(call, others)]


def accounts_listed(call: Call, people: Sequence[ListedPerson]) -> list[Entity]:
    uids = [one.user.uid for one in people]
    return [*accounts_of(call, uids).values()]


def accounts_page(
    call: Call,
    rows: Sequence[Cursor],
    older: Cursor | None,
    shown: Callable[[Entity, Cursor], Entity] = lambda account, row: account,
) -> Listed:
    """A page of people, of whom an app may ask only for those above the cursor `since_id`. Raises Invalid."""
    since = call.cursor("since_id")
    new = {int(row.member): row for row in rows if since is None or row > since}
    found = accounts_of(call, new)
    newest = number_of(next(iter(new.values()))) if new else None
    next_one = number_of(older) if older is not None and len(new) == len(rows) else None
    return Listed([shown(account, new[uid]) for uid, account in found.items()], newest, next_one, up="since_id")


# ---- Follows


def _follows(side: Side, call: Call) -> object:
    before, limit = call.cursor("max_id"), call.sent.number("limit", 40, 80)
    found = FollowPages(connect(), side).part(call.viewer, call.id, before, limit)
    return accounts_page(call, [Cursor(row.since, str(row.listed.user.uid)) for row in found.edges], found.older)


followers, following = partial(_follows, "followers"), partial(_follows, "following")

MOST_FAMILIAR = 10  # people of one call


def familiar_followers(call: Call) -> object:
    """Followers of these people whom the viewer follows, some of each."""
    uids = call.sent.ids("id")
    if not uids:
        return []
    known = known_followers(connect(), call.viewer, uids[:MOST_FAMILIAR])
    found = accounts_of(call, {one for some in known.values() for one in some})
    return [{"id": str(uid), "accounts": [found[one] for one in some if one in found]} for uid, some in known.items()]


# ---- The people whom the viewer hides


def _hidden(call: Call, kind: Hides) -> tuple[list[Cursor], Cursor | None]:
    return hidden_part(connect(), call.viewer, kind, call.cursor("max_id"), call.sent.number("limit", 40, 80))


def blocks(call: Call) -> object:
    return accounts_page(call, *_hidden(call, Hides.BLOCKED))


def mutes(call: Call) -> object:
    """https://docs.joinmastodon.org/entities/Account/#MutedAccount"""

    def until(account: Entity, row: Cursor) -> Entity:
        end = ends(Hides.MUTED, row)
        return {**account, "mute_expires_at": date_time(end) if end else None}

    return accounts_page(call, *_hidden(call, Hides.MUTED), until)


ENDPOINTS = (
    Endpoint("GET", "/api/v1/accounts/verify_credentials", verify_credentials, "profile"),
    Endpoint("PATCH", "/api/v1/accounts/update_credentials", update_credentials, "write:accounts"),
    Endpoint("DELETE", "/api/v1/profile/avatar", partial(remove_picture, ProfilePicture.PICTURE), "write:accounts"),
    Endpoint("DELETE", "/api/v1/profile/header", partial(remove_picture, ProfilePicture.HEADER), "write:accounts"),
    Endpoint("GET", "/api/v1/accounts", accounts, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/accounts/lookup", lookup, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/accounts/search", search, "read:accounts"),
    Endpoint("GET", "/api/v1/accounts/familiar_followers", familiar_followers, "read:follows"),
    Endpoint("GET", "/api/v1/accounts/:id", account, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/accounts/:id/followers", followers, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/accounts/:id/following", following, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/blocks", blocks, "read:blocks"),
    Endpoint("GET", "/api/v1/mutes", mutes, "read:mutes"),
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
