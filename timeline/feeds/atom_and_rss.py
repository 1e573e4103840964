"""Atom and RSS feeds: the newest posts of a user, of a tag, and of everyone.

A feed has what a visitor sees, in the site's own language, also for a signed-in user. So it is the same for everyone,
and it stays the same until a post or a name changes.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed, SyndicationFeed
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.utils.xmlutils import SimplerXMLGenerator

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import isolated
from retwis_site.http.public_cache import publicly_cached
from retwis_site.identity import known_site
from retwis_site.rendering.dates import moment_of
from retwis_site.rendering.fragments import Fragment, Html, with_line_breaks
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from timeline.posts.entities import Page, Post
from timeline.posts.html.post_cards import beginning_of, html_of
from timeline.posts.links import folded
from timeline.tags.tag_pages import Tag, TagPages
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.profile import Profiles

# ---- A post as the HTML of an item in a feed: to whom it replies, its text, and the post that it quotes.


FEED_TEXT = Fragment("timeline/feeds/_feed_text.html")


def item_html(post: Post, language: str, origin: str) -> Html:
    """The whole text, with the same links as on pages. Addresses are absolute."""
    answered, quoted = post.context.answered, post.context.quoted
    return FEED_TEXT.fill(
        language,
        replies=answered is not None,
        quotes=post.links.quote is not None,
        seen=quoted is not None,
        text=_text(post, language, origin),
        answered=answered.username if answered else "",
        answered_address=address_answered(post, origin) or "",
        quoted_name=quoted.author.shown_name if quoted else "",
        quoted_address=address_quoted(post, origin) or "",
        quoted_text=_text(quoted, language, origin) if quoted else "",
    )


def address_answered(post: Post, origin: str) -> str | None:
    """The address of the post that it replies to; None for no reply, and when the account of that author is deleted."""
    if post.context.answered is None or post.links.reply_to is None:
        return None
    return origin + reverse("post", args=[post.context.answered.username, post.links.reply_to])


def address_quoted(post: Post, origin: str) -> str | None:
    """The address of the post that it quotes; None for none, and for one that nobody sees."""
    quoted = post.context.quoted
    return origin + reverse("post", args=[quoted.author.username, quoted.pid]) if quoted else None


def _text(post: Post, language: str, origin: str) -> Html:
    return with_line_breaks(html_of(post.body, language, origin, post.context.mentioned))


# ---- Atom and RSS


MAX_AGE = 60  # seconds that a cache may keep a feed
TITLE_LENGTH = 60  # characters of a post
NEVER_UPDATED = moment_of(0)  # both formats need a date, also for a feed without posts

# XML 1.0 allows no control characters but tabs and line ends (2.2), and no surrogates.
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

THREADING = "http://purl.org/syndication/thread/1.0"  # RFC 4685


@dataclass(frozen=True, slots=True)
class Item:
    """A post in a feed."""

    post: Post
    origin: str  # of the site: `https://retwis.example`


@dataclass(frozen=True, slots=True)
class FeedPosts:
    """The posts of a feed."""

    items: list[Item]  # newest first


@dataclass(frozen=True, slots=True)
class PersonFeedPosts(FeedPosts):
    """The posts of one user."""

    person: User


@dataclass(frozen=True, slots=True)
class TagFeedPosts(FeedPosts):
    """The posts with one tag."""

    tag: Tag


class _ValidFeed(SyndicationFeed):
    """For both formats: no character that XML forbids, and no date but those of posts."""

    content_type: str

    def __init__(self, **fields: Any) -> None:
        super().__init__(**_allowed_in_xml(fields))

    def add_item(self, **fields: Any) -> None:  # type: ignore[override]
        super().add_item(**_allowed_in_xml(fields))

    def latest_post_date(self) -> datetime:
        return super().latest_post_date() if self.items else NEVER_UPDATED


def _allowed_in_xml(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace the characters that XML forbids. Texts of a foreign database may have them."""
    return {
        name: _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value
        for name, value in fields.items()
    }


class Rss(_ValidFeed, Rss201rev2Feed):
    """RSS 2.0. Titles are plain text, as in the RSS Board's profile; descriptions are HTML."""


class Atom(_ValidFeed, Atom1Feed):
    """Atom 1.0. A post is the content of an entry; Django would make it the summary. A reply names the entry that it
    replies to, so that readers show threads."""

    def root_attributes(self) -> dict[str, str]:
        return super().root_attributes() | {"xmlns:thr": THREADING}

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        handler.addQuickElement("content", item["description"], {"type": "html"})
        if item["answered"]:
            attributes = {"ref": item["answered"], "href": item["answered"], "type": "text/html"}
            handler.addQuickElement("thr:in-reply-to", "", attributes)
        if item["quoted"]:
            handler.addQuickElement("link", "", {"rel": "related", "href": item["quoted"], "type": "text/html"})


class PostsFeed(Feed):  # type: ignore[type-arg]
    """A view that answers with posts as a feed. `address` is the name of its own URL. One object serves all requests,
    so the posts of a request are in a `FeedPosts`."""

    language = settings.LANGUAGE_CODE
    item_guid_is_permalink = True

    feed_type: type[_ValidFeed]

    def __init__(self, feed_type: type[_ValidFeed], address: str) -> None:
        self.feed_type = feed_type
        self.address = address

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with override(self.language):
            feed = self.get_feed(self.get_object(request, *args, **kwargs), request)
        response = HttpResponse(feed.writeString("utf-8"), content_type=self.feed_type.content_type)
        response["Content-Language"] = self.language
        if feed.items:
            response["Last-Modified"] = http_date(feed.latest_post_date().timestamp())
        return response

    def items(self, feed_posts: FeedPosts) -> list[Item]:
        return feed_posts.items

    def item_title(self, item: Item) -> str:
        text = beginning_of(item.post.body, TITLE_LENGTH)
        return _("%(name)s: %(text)s") % {"name": isolated(item.post.author), "text": text}

    def item_description(self, item: Item) -> str:
        return item_html(item.post, self.language, item.origin)

    def item_extra_kwargs(self, item: Item) -> dict[str, Any]:
        """What the post replies to and quotes: addresses, of which each is also the id of that post's own entry."""
        return {
            "answered": address_answered(item.post, item.origin),
            "quoted": address_quoted(item.post, item.origin),
        }

    def item_link(self, item: Item) -> str:
        return reverse("post", args=[item.post.author.username, item.post.pid])

    def item_author_name(self, item: Item) -> str:
        return item.post.author.shown_name

    def item_author_link(self, item: Item) -> str:
        return item.origin + reverse("profile", args=[item.post.author.username])

    def item_pubdate(self, item: Item) -> datetime:
        return moment_of(item.post.time)

    def item_updateddate(self, item: Item) -> datetime:
        """When the text that stands now was written."""
        return moment_of(item.post.edited or item.post.time)


class ProfileFeed(PostsFeed):
    """The posts of a user on the first page of the profile, without reposts of others. As many round trips as that page
    takes for a visitor. Raises NoSuchUser, AccountDeleted."""

    def get_object(self, request: HttpRequest, username: str) -> PersonFeedPosts:
        found = Profiles(connect()).page(_visitor(), username, None)
        items = [item for item in _items(request, found.page) if item.post.author.uid == found.person.uid]
        return PersonFeedPosts(items, found.person)

    def title(self, feed_posts: PersonFeedPosts) -> str:
        return _("%(name)s (@%(username)s) on %(site)s") % {
            "site": known_site().name,
            "name": isolated(feed_posts.person),
            "username": feed_posts.person.username,
        }

    def subtitle(self, feed_posts: PersonFeedPosts) -> str:
        return _("Posts by %(name)s, newest first") % {"name": isolated(feed_posts.person)}

    description = subtitle

    def link(self, feed_posts: PersonFeedPosts) -> str:
        return reverse("profile", args=[feed_posts.person.username])

    def feed_url(self, feed_posts: PersonFeedPosts) -> str:
        """With the username as registered; a request may have other letter case."""
        return reverse(self.address, args=[feed_posts.person.username])


EVERYONES_ENTRIES = 50


class TimelineFeed(PostsFeed):
    """Everyone's newest posts, EVERYONES_ENTRIES of them. As many round trips as a visitor's first page of the global
    timeline."""

    def get_object(self, request: HttpRequest) -> FeedPosts:
        found = EveryoneTimeline(connect()).page(_visitor(), None, EVERYONES_ENTRIES)
        return FeedPosts(_items(request, found.page))

    def title(self) -> str:
        return _("Everyone on %(site)s") % {"site": known_site().name}

    def subtitle(self) -> str:
        return _("All posts, newest first")

    description = subtitle

    def link(self) -> str:
        return reverse("timeline")

    def feed_url(self) -> str:
        return reverse(self.address)


class TagFeed(PostsFeed):
    """The newest 20 posts with a tag. As many round trips as a visitor's first page of the tag. Raises NoSuchTag."""

    def get_object(self, request: HttpRequest, tag: str) -> TagFeedPosts:
        found = TagPages(connect()).page(_visitor(), folded(tag), None)
        return TagFeedPosts(_items(request, found.page), found.tag)

    def title(self, feed_posts: TagFeedPosts) -> str:
        return _("#%(tag)s on %(site)s") % {"tag": feed_posts.tag.spelling, "site": known_site().name}

    def subtitle(self, feed_posts: TagFeedPosts) -> str:
        return _("Posts with #%(tag)s, newest first") % {"tag": feed_posts.tag.spelling}

    description = subtitle

    def link(self, feed_posts: TagFeedPosts) -> str:
        return reverse("tag", args=[feed_posts.tag.folded])

    def feed_url(self, feed_posts: TagFeedPosts) -> str:
        """With the folded tag; a request may have another spelling."""
        return reverse(self.address, args=[feed_posts.tag.folded])


def _visitor() -> Viewer:
    """A feed has what visitors see, also for a signed-in user. What it asks also brings the site's name."""
    return Viewer(connect(), "")


def _items(request: HttpRequest, page: Page) -> list[Item]:
    origin = origin_of(request)
    return [Item(post, origin) for post in page.posts]


_cached = publicly_cached(MAX_AGE)
profile_atom = _cached(ProfileFeed(Atom, "profile_atom"))
profile_rss = _cached(ProfileFeed(Rss, "profile_rss"))
timeline_atom = _cached(TimelineFeed(Atom, "timeline_atom"))
tag_atom = _cached(TagFeed(Atom, "tag_atom"))
timeline_rss = _cached(TimelineFeed(Rss, "timeline_rss"))
