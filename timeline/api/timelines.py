"""Lists of posts as apps ask for them: home, everyone, a tag, a person, likes and bookmarks."""

from collections.abc import Callable
from functools import partial
from typing import Any

from retwis_site.http.apps import SentTexts
from retwis_site.store.client import connect
from timeline.api.calls import Call, Endpoint, Listed, number_of
from timeline.api.reading import Statuses
from timeline.conversation.repository import SavedPage, SavedPart, SavedPosts
from timeline.people.lists import Cursor
from timeline.posts.entities import PostsPage
from timeline.posts.links import folded
from timeline.posts.reading.post_reader import AskAboutAuthors
from timeline.posts.reading.visibility import Rule, WithPictures
from timeline.relations.relation import Relation
from timeline.relations.relations import BOOKMARK, LIKE
from timeline.tags.tags import CombinedTags, TagPages
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import OwnPosts, Profiles

MOST_TAGS = 4  # that a call names beside its own, as Mastodon has it
MOST_READS = 5  # for a page of which what was read before has no post


def _listed(statuses: Statuses, part: Any, read: Callable[[Any, AskAboutAuthors], PostsPage | SavedPage]) -> Listed:
    """A part of a list of posts as the answer to a call. While what was read has no post, what follows is read, too:
    apps take a page without a post for the end."""
    for _ in range(MOST_READS):
        page = read(part, statuses.about_authors)
        further = page.newest if part.upwards else page.older
        if page.posts or further is None:
            break
        part = part._replace(**{"above" if part.upwards else "below": further})
    newest, older = (number_of(one) if isinstance(one, Cursor) else one for one in (page.newest, page.older))
    return Listed(statuses.written(page.posts), newest, older)


NOTHING = Listed([], None, None)


def home(call: Call) -> object:
    """Round trips as for the page of the home."""
    return _listed(Statuses(call), call.part(), partial(Homes(connect()).part, call.viewer))


def public(call: Call) -> object:
    """Everyone's posts. There is no other server, so what is `remote` is nothing. Round trips as for the page."""
    part = call.part()
    if call.sent.flag("remote"):
        return NOTHING
    return _listed(Statuses(call), part, partial(EveryoneTimeline(connect()).part, call.viewer, _rules(call.sent)))


def tag(call: Call) -> object:
    """The posts with a tag or one of `any`, with each of `all`, and with none of `none`."""
    part, sent = call.part(), call.sent
    others = ([folded(name.lstrip("#")) for name in sent.texts(which)[:MOST_TAGS]] for which in ("any", "all", "none"))
    any_of, all_of, none_of = others
    if sent.flag("remote"):
        return NOTHING
    tags = CombinedTags([*dict.fromkeys([folded(call.named["tag"].removeprefix("#")), *any_of])], all_of, none_of)
    return _listed(Statuses(call), part, partial(TagPages(connect()).part, call.viewer, tags, _rules(sent)))


def _rules(sent: SentTexts) -> list[Rule]:
    return [WithPictures()] if sent.flag("only_media") else []


def of_account(call: Call) -> object:
    """What a person wrote and reposted. Raises NoSuchUser, NotShown."""
    part, sent, profiles = call.part(), call.sent, Profiles(connect())
    own = OwnPosts(
        not sent.flag("exclude_replies"),
        not sent.flag("exclude_reblogs"),
        folded((sent.text("tagged") or "").lstrip("#")),
        without_pictures=not sent.flag("only_media"),
    )
    statuses = Statuses(call)
    if sent.flag("pinned"):
        return statuses.of(profiles.pinned(call.viewer, call.id, statuses.about_authors))
    return _listed(statuses, part, partial(profiles.part, call.viewer, call.id, own))


def _saved(of: Relation, call: Call) -> object:
    """The last one first. The cursors are no ids of posts: apps take them from the header `Link`. Raises Invalid."""
    sent = call.sent
    below, since, least = (call.cursor(name) for name in ("max_id", "since_id", "min_id"))
    part = SavedPart(below, least or since, least is not None, sent.number("limit", 20, 40))
    return _listed(Statuses(call), part, partial(SavedPosts(connect(), of).part, call.viewer))


ENDPOINTS = (
    Endpoint("GET", "/api/v1/timelines/home", home, "read:statuses"),
    Endpoint("GET", "/api/v1/timelines/public", public, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/timelines/tag/:tag", tag, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/accounts/:id/statuses", of_account, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/favourites", partial(_saved, LIKE), "read:favourites"),
    Endpoint("GET", "/api/v1/bookmarks", partial(_saved, BOOKMARK), "read:bookmarks"),
)
