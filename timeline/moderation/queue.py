"""What the pages of staff read, and how they say it: the queue of open reports, and what is known of a person."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _

from accounts.community.acts import Roles, StaffNotes
from accounts.community.log import Act, Log
from accounts.community.sanctions import GRANTED, LIFTED, REFUSED
from accounts.community.views import SiteForm
from accounts.media.repository import Pictures
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import OPERATOR, AccountDeleted, Role, State, User
from accounts.users.html import at
from accounts.users.repository import ask_owners
from retwis_site.http.language import listed
from retwis_site.rendering.dates import day, moment
from retwis_site.rendering.fragments import Fragment, Html, active_language
from retwis_site.store import keys
from retwis_site.store.chunks import newest_below
from retwis_site.store.client import Pipe, Result, Store, answer, answers, connect
from retwis_site.store.ids import integer, stored_ids
from timeline.moderation.reports import PREFIX, REPORTS_SHOWN, RULE, Action, Reason, Report, Reports
from timeline.posts.entities import NO_MEDIA, Media
from timeline.posts.html import beginning_of, words_of
from timeline.posts.reading.records import Record, ask_post
from timeline.posts.repository import Posts

READ = 200  # reports of a page
NAMED = 3  # of those who have reported something
BEGINNING = 200  # characters of a reported text


class Reported(NamedTuple):
    """A person or a post with its open reports, as a page of staff shows it."""

    newest: Report
    times: int  # reports
    label: str  # why, in words
    beginning: str  # of the text of the post
    iso: str  # when the newest report was made, for a machine
    when: str
    name: str = ""  # of the person; empty for an unknown one
    reporters: str = ""  # names of those who have reported it, newest first; without deleted accounts
    of_person: int = 0  # reports of the page about the person, when some are about something else; else 0
    stands: bool = False  # the post is not deleted; only the queue knows it

    @property
    def pid(self) -> int:
        """0: the person is reported."""
        return self.newest.about.pid or 0


class OpenReports(NamedTuple):
    """A page of open reports."""

    things: list[Reported]
    left: int  # reports about the viewer, which others decide
    older: int | None  # the cursor of the next page


def open_reports(store: Store, before: int | None, me: int) -> OpenReports:
    """The newest READ open reports below this id, grouped, without those about the viewer that are left to others.
    What is reported of a person stands together, where the newest of it would. Three round trips; one more with some
    about the viewer."""
    reports = Reports(store).open(before, READ)
    shown = for_viewer(store, reports, me)
    with store.pipeline() as pipe:
        names = ask_names(pipe, {uid for one in shown for uid in (one.about.whom, one.who) if uid})
        posts = [ask_post(pipe, pid) for pid in {one.about.pid for one in shown if one.about.pid}]
    standing = {one.value.pid for one in posts if one.value is not None}
    older = reports[-1].rid if len(reports) == READ else None
    return OpenReports(_named(shown, names.value, standing, me), len(reports) - len(shown), older)


def for_viewer(store: Store, reports: list[Report], me: int) -> list[Report]:
    """Those that the viewer may decide: without those about the viewer that are left to others. One round trip with
    some about the viewer, else none."""
    about_others = [one for one in reports if one.about.whom != me]
    if len(about_others) == len(reports) or may_see(store, me, me):
        return reports
    return about_others


def may_see(store: Store, by: int, whom: int) -> bool:
    """Whether staff sees the reports and the notes about a person. Those about oneself are for others: the reporters
    were promised so. Only the only admin sees them, who must decide. One round trip about oneself, else none."""
    if by != whom:
        return True
    return [uid for uid, role in Roles(store).staff().items() if role is Role.ADMIN] == [by]


def ask_names(pipe: Pipe, uids: Collection[int]) -> Result[dict[int, str]]:
    """Usernames by uid, also of suspended and deleted accounts. A command for each."""
    names = {uid: pipe.hget(keys.user(uid), "username") for uid in uids}
    return Result(lambda: {uid: name.value or "" for uid, name in names.items()})


def grouped(reports: Iterable[Report]) -> list[Reported]:
    """What is reported, each once, the newest first. No round trip."""
    return [_reported(some) for some in _by_thing(reports).values()]


def _by_thing(reports: Iterable[Report]) -> dict[str, list[Report]]:
    groups: dict[str, list[Report]] = {}
    for report in reports:
        groups.setdefault(report.about.thing, []).append(report)
    return groups


def _reported(reports: Sequence[Report]) -> Reported:
    newest = reports[0]
    labels = dict.fromkeys(label_of(one.about.reason, one.about.rule) for one in reports)
    about = newest.about
    beginning = beginning_of(words_of(about.body, about.media), BEGINNING) if about.pid else ""
    return Reported(newest, len(reports), " · ".join(labels), beginning, *moment(newest.when, active_language()))


def alike(report: Report, known: Iterable[tuple[Reported, str]]) -> list[Reported]:
    """What others have said of the same thing: those of the known reports that wait with this one, or were decided with
    it, each that says something else. No round trip."""
    said = {
        (one.label, one.newest.about.note, one.newest.about.body): one
        for one, _words in known
        if (one.newest.about.thing, one.newest.decision) == (report.about.thing, report.decision)
    }
    about = report.about
    said.pop((label_of(about.reason, about.rule), about.note, about.body), None)
    return list(said.values())


def _named(reports: Sequence[Report], names: dict[int, str], standing: set[int], me: int) -> list[Reported]:
    """With names, and whether the post is among those `standing`; without the names of the people who have reported the
    viewer."""
    of_person = Counter(report.about.whom for report in reports)
    places = {whom: place for place, whom in enumerate(of_person)}
    found = []
    for some in sorted(_by_thing(reports).values(), key=lambda some: places[some[0].about.whom]):
        whom = some[0].about.whom
        told_by = [f"@{names[uid]}" for uid in dict.fromkeys(one.who for one in some) if uid and names[uid]]
        found.append(
            _reported(some)._replace(
                name=names[whom],
                reporters=listed(*told_by[:NAMED]) if told_by and whom != me else "",
                of_person=of_person[whom] if of_person[whom] > len(some) else 0,
                stands=some[0].about.pid in standing,
            )
        )
    return found


# ---- Why something is reported, in words.


REASONS = {
    Reason.SPAM: _("It is spam or fraud"),
    Reason.HARASSMENT: _("It insults or threatens someone"),
    Reason.ILLEGAL: _("It is against the law"),
    Reason.OTHER: _("Something else"),
}


def reasons(rules: Sequence[str]) -> list[tuple[str, str | Promise]]:
    """The reasons with their labels; the rules of the site stand before the last one."""
    *first, other = REASONS
    named = [(f"{RULE}{number}", label_of(f"{RULE}{number}", rule)) for number, rule in enumerate(rules, 1)]
    return [*((reason.value, REASONS[reason]) for reason in first), *named, (other.value, REASONS[other])]


def label_of(reason: str, rule: str) -> str:
    """A reason in words; `rule`: the text of the rule that it names."""
    if reason.startswith(RULE):
        return gettext("It breaks rule %(number)s: %(rule)s") % {"number": reason.removeprefix(RULE), "rule": rule}
    return str(REASONS[Reason(reason)] if reason in list(Reason) else reason)


# ---- What staff does, in words.


DELETED_ALONE = "post:deleted"  # a deletion without a decision: by the operator, or by an earlier version
SITE = "site:"  # what a change of the site's words is called in the log, before the names of the fields

ACTS = {
    State.FROZEN: _("Account frozen"),
    State.HIDDEN: _("Account hidden"),
    State.SUSPENDED: _("Account suspended"),
    LIFTED: _("Sanction lifted"),
    GRANTED: _("Appeal granted"),
    REFUSED: _("Appeal refused"),
    Action.DISMISS: _("No rule was broken"),
    Action.WARN: _("Person warned"),
    Action.DELETE: _("Post deleted"),
    Action.PICTURE: _("Picture deleted"),
    DELETED_ALONE: _("Post deleted"),
    "picture:deleted": _("Picture deleted"),
    "picture:removed": _("Profile picture removed"),
    "header:removed": _("Header removed"),
    "picture:allowed": _("Picture allowed again"),
    f"role:{Role.MEMBER}": _("Role removed"),
    f"role:{Role.MODERATOR}": _("Made a moderator"),
    f"role:{Role.ADMIN}": _("Made an admin"),
    "joining:approved": _("Application approved"),
    "joining:refused": _("Application refused"),
    "joining:taken": _("Application refused: the name is taken"),
    "name:blocked": _("Name blocked"),
    "name:unblocked": _("Name unblocked"),
    "invitation:made": _("Invitation created"),
    "invitation:revoked": _("Invitation revoked"),
    "unthrottled": _("Rate limits reset"),
    "link": _("Password reset link created"),
    "password": _("Password set"),
    "factors:removed": _("Second factor removed"),
}


def in_words(what: str) -> str:
    """An act in words; an act of another version as it is stored. A change of the site names the changed fields."""
    if what.startswith(PREFIX):
        return listed(*(str(ACTS.get(name, name)) for name in what.removeprefix(PREFIX).split(",")))
    if what.startswith(SITE):
        names = what.removeprefix(SITE).split(",")
        fields = [str(SiteForm.base_fields[name].label) if name in SiteForm.base_fields else name for name in names]
        return gettext("Site changed: %(fields)s") % {"fields": listed(*fields)}
    return str(ACTS.get(what, what))


def decided_in_words(report: Report) -> str:
    """The decision about a report; empty while it is open. Where the author was faster, staff has deleted nothing."""
    if report.decision is None:
        return ""
    if not report.chosen or report.deleted:
        return in_words(report.decision.what)
    done = [str(ACTS[action]) for action in report.actions if action is not Action.DELETE]
    return listed(*done) if done else gettext("This post was deleted by its author.")


# ---- What has happened about a person: reports, and acts of staff.


POSTS_SHOWN = 10


class NamedAct(NamedTuple):
    """An act of staff as a page shows it."""

    words: str
    reason: str
    iso: str  # when, for a machine
    when: str
    by: str  # username; empty for the operator, and where the store has lost the account
    whom: str  # username; empty for an act about no person
    post: int  # id of the post that it was about; 0: about none, or without a report nothing of it is left
    until: str  # the last day of a sanction; empty without an end
    at: int  # unix milliseconds
    blocked: str  # the digest of the picture that nobody may upload again since; empty for none, and when that is over
    by_command: bool  # the operator did it


def about_person(store: Store, uid: int, notes_before: int | None = None) -> dict[str, Any]:
    """The name of a person, what staff has done about them and noted, and the newest reports about them: `reports`,
    each with its decision in words, and `open`, what of it waits for one. `older_notes`: `notes_before` of more notes.
    Six round trips, and one more where there are older notes."""
    reports, acts = Reports(store).about(uid, REPORTS_SHOWN), Log(store).about(uid)
    notes, older_notes = StaffNotes(store).about(uid, notes_before)
    shown = named(store, [*acts, *notes])
    return {
        "name": answer(store, ask_names, {uid})[uid],
        "reports": with_decisions(reports),
        "open": grouped(one for one in reports if one.decision is None),
        "acts": shown[: len(acts)],
        "notes": shown[len(acts) :],
        "older_notes": older_notes,
    }


def with_decisions(reports: Iterable[Report]) -> list[tuple[Reported, str]]:
    """Each report with its decision in words, as `decided_in_words`. No round trip."""
    return [(_reported([one]), decided_in_words(one)) for one in reports]


class ShownPost(NamedTuple):
    """A post of a person as a page of staff shows it."""

    pid: int
    body: str
    iso: str  # when, for a machine
    when: str
    media: Media = NO_MEDIA
    reply_to: int = 0  # a pid; 0: it is no reply
    answered: int = 0  # uid of the author of `reply_to`; 0: unknown

    @property
    def words(self) -> str:
        """What stands for the post where it is chosen."""
        return words_of(self.body, self.media)


def posts_of(store: Store, uid: int, before: int | None) -> dict[str, Any]:
    """The newest posts of a person below this id, also of a suspended one, without reposts; the cursor of the older
    ones; and the one of these, whatever is published meanwhile. Two round trips."""
    key, high = keys.updates(uid), "+inf" if before is None else f"({before}"
    pids = stored_ids(key, store.zrevrangebyscore(key, high, "-inf", POSTS_SHOWN))
    older, same = pids[-1] if len(pids) == POSTS_SHOWN else None, pids[0] + 1 if pids else None
    return {"posts": own_posts(store, uid, pids), "older": older, "same": same}


def own_posts(store: Store, uid: int, pids: Collection[int]) -> list[ShownPost]:
    """Those of these posts that stand and that this person has written. One round trip. Raises AccountDeleted, also
    before a worker has removed them."""
    with store.pipeline() as pipe:
        deleted, posts = pipe.hget(keys.user(uid), "deleted"), [ask_post(pipe, pid) for pid in pids]
    if deleted.value is not None:
        raise AccountDeleted(str(uid))
    found = [one.value for one in posts if one.value is not None]
    return [_shown(one) for one in found if one.uid == uid and one.links.repost_of is None]


def _shown(post: Record) -> ShownPost:
    iso, when = moment(post.time, active_language())
    links = post.links
    replied = links.reply_to or 0, links.reply_to_user or 0
    return ShownPost(post.pid, post.body, iso, when, post.media, *replied)


def named(store: Store, acts: Iterable[Act]) -> list[NamedAct]:
    """Acts in words, with the names of who has done them, and to whom. One round trip; one more with pictures."""
    acts = [*acts]
    names = answer(store, ask_names, {uid for act in acts for uid in (act.by, act.whom) if uid})
    blocked = Pictures(store).blocked({act.also for act in acts if act.also})
    return [
        NamedAct(
            in_words(act.what),
            act.reason,
            *moment(act.when, active_language()),
            names.get(act.by, ""),
            names.get(act.whom, ""),
            act.post if act.what != DELETED_ALONE else 0,
            day(act.until, active_language()) if act.until else "",
            act.at,
            act.also if act.also in blocked else "",
            act.by == OPERATOR,
        )
        for act in acts
    ]


# ---- New members, with the first post of each.


NEW_SHOWN = 20  # people of a page
FIRSTS = 5  # entries of a person's posts among which the first one is looked for, since reposts are no posts


class NewMember(NamedTuple):
    """A person as the list of new members shows them."""

    username: str
    iso: str  # when they registered, for a machine
    when: str
    post: ShownPost | None  # the first one that stands and is no repost; None: nothing of the kind


def new_members(store: Store, before: int | None) -> tuple[list[NewMember], int | None]:
    """The newest users, or those before a moment in unix seconds: NEW_SHOWN of them, as `newest_below`, and the cursor
    of the next page. Five round trips at most."""
    rows, older = newest_below(store, [keys.users_by_time()], before, NEW_SHOWN)
    joined = {name: integer(score) for name, score in rows}
    uids = answer(store, ask_owners, list(joined))
    known = {name: uids[name] for name in joined if uids.get(name)}
    firsts = answers(store, lambda pipe, uid: pipe.zrange(keys.updates(uid), 0, FIRSTS - 1), set(known.values()))
    first_of = {uid: stored_ids(keys.updates(uid), pids) for uid, pids in firsts.items()}
    posts = Posts(store).read({pid for pids in first_of.values() for pid in pids})
    shown = {one.pid: _shown(one) for one in posts if one.links.repost_of is None}
    people = [
        NewMember(
            name,
            *moment(joined[name], active_language()),
            next((shown[pid] for pid in first_of[uid] if pid in shown), None),
        )
        for name, uid in known.items()
    ]
    return people, older


# ---- What staff finds behind "More" of a person or a post.


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
