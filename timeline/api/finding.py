"""What apps find: people, posts and tags by a text, tags to follow, what many people like now, and whom to follow."""

import re
import time
from dataclasses import replace
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import Resolver404
from django.utils.http import MAX_URL_LENGTH

from accounts.signing_in.guards import match_of
from accounts.users.repository import Users
from retwis_site.exceptions import NothingToShow
from retwis_site.http.apps import Invalid
from retwis_site.rendering.dates import A_DAY
from retwis_site.store.client import connect, trip
from timeline.api.calls import Call, Endpoint, Listed
from timeline.api.entities import Entity, address_of_tag
from timeline.api.people import account_named, accounts_found, accounts_listed
from timeline.api.reading import Statuses, accounts_of
from timeline.conversation.repository import Threads
from timeline.explore.exploring import Explore, TagOfTheWeek
from timeline.people.directory import People
from timeline.people.lists import Suggestions
from timeline.posts.links import HASH_SIGNS, folded, is_tag
from timeline.relations.feature import FOLLOWS
from timeline.relations.relations import TagFollows
from timeline.search.query import BadQuery, ByPerson, PostRole, Scope, parse
from timeline.search.searching import begin
from timeline.search.views import NOTHING_MEANT, ask_no_names, counted
from timeline.tags.tags import NoSuchTag, Tag, ask_chosen_tag, ask_viewers_tag, followed_tags, tags_named
from timeline.tags.views import too_many_tags

# ---- Tags


DAYS = 7


def tag_of(origin: str, tag: Tag, *, following: bool | None = None, week: TagOfTheWeek | None = None) -> Entity:
    """`following`: whether the viewer follows it; None: nobody has asked. `week`: its use in the last seven days, of
    which only the sum is known. It stands at today. https://docs.joinmastodon.org/entities/Tag/"""
    today = int(time.time()) // A_DAY
    history = [{"day": str((today - ago) * A_DAY), "uses": "0", "accounts": "0"} for ago in range(DAYS if week else 0)]
    if week is not None:
        history[0] = {"day": history[0]["day"], "uses": str(week.posts), "accounts": str(week.people)}
    url = address_of_tag(origin, tag.folded)
    made: Entity = {"id": tag.folded, "name": tag.spelling, "url": url, "history": history}
    if following is not None:
        made["following"], made["featuring"] = following, False
    return made


def _folded(call: Call) -> str:
    """The folded tag in the address. Raises NoSuchTag for a text that can be none."""
    name = call.named["name"].removeprefix("#")
    if not is_tag(name):
        raise NoSuchTag(name)
    return folded(name)


def tag(call: Call) -> object:
    """Also one that no post has had yet."""
    name = _folded(call)
    [found] = call.viewer.ask(lambda pipe, me: trip(ask_viewers_tag(pipe, me, name)))
    return tag_of(call.origin, found, following=found.following)


def follow_tag(call: Call) -> object:
    name = _folded(call)
    me, [chosen] = call.viewer.ask_as_user(lambda pipe, me: trip(ask_chosen_tag(pipe, me, name)))
    if not chosen.may_be_followed:
        raise Invalid(too_many_tags())
    FOLLOWS.count(connect(), me.uid)
    TagFollows(connect()).follow(me.uid, name)
    return tag_of(call.origin, chosen.tag, following=True)


def unfollow_tag(call: Call) -> object:
    name = _folded(call)
    me, [found] = call.viewer.ask_as_user(lambda pipe, me: trip(ask_viewers_tag(pipe, me, name)))
    TagFollows(connect()).unfollow(me.uid, name)
    return tag_of(call.origin, found, following=False)


def tags_followed(call: Call) -> object:
    """The cursors are tags. One that the user follows no more leaves nothing out: so an app that goes through the list
    and unfollows what it finds misses nothing."""
    origin, tags = call.origin, followed_tags(connect(), call.viewer)
    names, after, since = [one.folded for one in tags], call.sent.text("max_id"), call.sent.text("since_id")
    first = names.index(after) + 1 if after in names else 0
    end = names.index(since) if since in names else len(names)
    last = min(end, first + call.sent.number("limit", 100, 200))
    newest, older = (names[first], names[last - 1]) if first < last else (None, None)
    items = [tag_of(origin, one, following=True) for one in tags[first:last]]
    return Listed(items, newest, older if last < end else None, up="since_id")


# ---- Search


_is_acct = re.compile(r"@?\w+@[\w.-]+(:\d+)?|@\w+").fullmatch


def search(call: Call) -> object:
    """The address of a person or a post of this site finds them alone. `type` chooses one of the three. Of posts
    alone the header `Link` leads on, also behind a page of which all are hidden from the viewer.
    https://docs.joinmastodon.org/entities/Search/"""
    typed = (call.sent.text("q") or "").strip()
    found: Entity = {"accounts": [], "statuses": [], "hashtags": []}
    if typed.startswith(("http://", "https://")):
        return _at_address(call, typed, found)
    wanted = call.sent.text("type")
    is_acct = _is_acct(typed)
    if wanted in (None, "", "accounts"):
        found["accounts"] = accounts_found(call, typed)
    if wanted in (None, "", "statuses") and not is_acct:
        found["statuses"], older = _statuses(call, typed)
        if wanted == "statuses" and not ("offset" in call.sent or "min_id" in call.sent):
            return Listed(found, None, older)
    if wanted in (None, "", "hashtags") and not is_acct:
        found["hashtags"] = _hashtags(call, typed)
    return found


def _part(call: Call) -> slice:
    first = call.sent.whole("offset")
    return slice(first, first + call.sent.number("limit", 20, 40))


def _statuses(call: Call, typed: str) -> tuple[list[Entity], int | None]:
    """As the page of the search, one page at most, and the `max_id` that leads on; None where it has ended. `min_id`
    leaves out what is not newer."""
    uid, above = call.sent.id("account_id"), call.sent.id("min_id") or 0
    author = None if uid is None else Users(connect()).people([uid]).get(uid)
    if uid is not None and author is None:
        return [], None
    statuses = Statuses(call)
    try:
        query = parse(typed)
        if author is not None:  # an adopted name may have spaces, which `from:` in a text has not
            query = replace(query, wanted=(ByPerson(PostRole.FROM, author.username), *query.wanted))
        found, _ = begin(connect(), call.viewer, query, Scope.EVERYONE, call.sent.id("max_id"), ask_no_names)
    except BadQuery:
        return [], None
    counted(call.request, found, NOTHING_MEANT)
    page = found.page()
    newer = [post for post in page.posts if post.pid > above]
    part = newer[_part(call)]
    older = part[-1].pid if part and part[-1] is not newer[-1] else page.older
    return statuses.of(part), older


def _hashtags(call: Call, typed: str) -> list[Entity]:
    name = typed.removeprefix("#") if typed[:1] in HASH_SIGNS else typed
    used = tags_named(connect(), call.viewer, name) if is_tag(name) else []
    return [tag_of(call.origin, one.tag) for one in used[_part(call)]]


def _at_address(call: Call, address: str, found: Entity) -> Entity:
    """What stands at an address, with or without its last slash; nothing of another site."""
    if len(address) > MAX_URL_LENGTH:  # urlsplit brings a host into a normal form, see `names.LONGEST_LINE`
        return found
    try:
        parts = urlsplit(address)
    except ValueError:
        return found
    if f"{parts.scheme}://{parts.netloc}".lower() != call.origin.lower():
        return found
    wanted = call.sent.text("type")
    try:
        match = match_of(f"{parts.path.rstrip('/')}/")
        if match.view_name == "profile" and wanted in (None, "", "accounts"):
            found["accounts"] = [account_named(call, match.kwargs["username"])]
        if match.view_name == "post" and wanted in (None, "", "statuses"):
            statuses, post = Statuses(call), Threads(connect()).one(call.viewer, match.kwargs["pid"])
            if post.listed_by.username.lower() == match.kwargs["username"].lower():  # as the page has it
                found["statuses"] = statuses.of([post])
    except (Resolver404, NothingToShow):
        return found
    return found


def directory(call: Call) -> object:
    """People as the page that lists them: the most followed ones, or with `order=new` the newest. The first page
    alone, since a later one does not begin at a number."""
    people = People(connect())
    by_date = call.sent.text("order") == "new"
    found = people.newest(call.viewer, None) if by_date else people.most_followed(call.viewer, None)
    first = call.sent.whole("offset")
    return accounts_listed(call, found.people[first : first + call.sent.number("limit", 40, 80)])


# ---- What many people like now, and whom to follow


def trending_tags(call: Call) -> object:
    found = Explore(connect()).tags() if settings.EXPLORE else ()
    return [tag_of(call.origin, one.tag, week=one) for one in found[_part(call)]]


def trending_statuses(call: Call) -> object:
    if not settings.EXPLORE:
        return []
    statuses = Statuses(call)
    return statuses.of(Explore(connect()).posts(call.viewer)[_part(call)])


MOST_SUGGESTED = 40
BY_FOLLOWS, BY_FAME = ("past_interactions", ["friends_of_friends"]), ("global", ["most_followed"])


def suggestions(call: Call) -> list[Entity]:
    """https://docs.joinmastodon.org/entities/Suggestion/ Five round trips at most, and those of the accounts."""
    me = call.viewer.require_user()
    people = Suggestions(connect()).for_user(me.uid, call.sent.number("limit", 20, MOST_SUGGESTED))
    accounts = accounts_of(call, [one.user.uid for one in people])
    why = {one.user.uid: BY_FOLLOWS if one.voter else BY_FAME for one in people}
    return [{"source": why[uid][0], "sources": why[uid][1], "account": account} for uid, account in accounts.items()]


def suggestions_v1(call: Call) -> object:
    return [one["account"] for one in suggestions(call)]


ENDPOINTS = (
    Endpoint("GET", "/api/v2/search", search, "read:search", open_to_visitors=True),
    Endpoint("GET", "/api/v1/directory", directory, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/tags/:name", tag, "read:follows", open_to_visitors=True),
    Endpoint("POST", "/api/v1/tags/:name/follow", follow_tag, "write:follows"),
    Endpoint("POST", "/api/v1/tags/:name/unfollow", unfollow_tag, "write:follows"),
    Endpoint("GET", "/api/v1/followed_tags", tags_followed, "read:follows"),
    Endpoint("GET", "/api/v1/trends", trending_tags),
    Endpoint("GET", "/api/v1/trends/tags", trending_tags),
    Endpoint("GET", "/api/v1/trends/statuses", trending_statuses, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v2/suggestions", suggestions, "read"),
    Endpoint("GET", "/api/v1/suggestions", suggestions_v1, "read"),
)
