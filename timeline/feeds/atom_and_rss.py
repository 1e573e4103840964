"""Atom and RSS: a person's newest posts, and everybody's, for programs that look whether there is something new.

A feed is what a visitor sees, whoever asks, and it is in the site's own language: so it is the same for everybody, and
the same each time until a post or a name changes.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed, SyndicationFeed
from django.utils.http import http_date
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.utils.xmlutils import SimplerXMLGenerator

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import isolated
from retwis_site.http.public_cache import publicly_cached
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from retwis_site.store.dates import moment_of
from retwis_site.store.local_cache import PageMemory
from timeline.posts.entities import Page, Post
from timeline.timelines.everyone import GLOBAL_POSTS, GlobalTimeline
from timeline.timelines.profile import Profiles

KEPT = 60  # seconds that a cache may keep one
TITLE = 60  # characters of a post
NOTHING_YET = moment_of(0)  # when a feed without posts was updated: both formats want a moment

# Tabs and ends of lines are the only control characters that XML 1.0 has (2.2); half a character is none anywhere.
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_texts: PageMemory[tuple[str, str], str] = PageMemory(size=10_000, seconds=3600)  # some 10 MB


@dataclass(frozen=True, slots=True)
class Item:
    """A post, and where the site stands that it is shown on: `https://retwis.example`."""

    post: Post
    origin: str


@dataclass(frozen=True, slots=True)
class FeedPosts:
    """What a feed has: posts, newest first."""

    items: list[Item]


@dataclass(frozen=True, slots=True)
class PersonFeedPosts(FeedPosts):
    """The same of one person."""

    person: User


class _Written(SyndicationFeed):
    """What both formats have in common: no character that XML forbids, and no moment but those of posts."""

    content_type: str

    def __init__(self, **said: Any) -> None:
        super().__init__(**_readable(said))

    def add_item(self, **said: Any) -> None:  # type: ignore[override]
        super().add_item(**_readable(said))

    def latest_post_date(self) -> datetime:
        return super().latest_post_date() if self.items else NOTHING_YET


def _readable(said: dict[str, Any]) -> dict[str, Any]:
    """Where a text has what XML cannot say, as one from a database from elsewhere may, it has a replacement."""
    return {
        name: _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value
        for name, value in said.items()
    }


class Rss(_Written, Rss201rev2Feed):
    """RSS 2.0. Its titles are plain text, as the RSS Board's profile has them; descriptions are HTML."""


class Atom(_Written, Atom1Feed):
    """Atom 1.0, where a post is an entry's content; Django would call it a summary."""

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        handler.addQuickElement("content", item["description"], {"type": "html"})


class PostsFeed(Feed):  # type: ignore[type-arg]
    """Posts as a feed, in one of the formats, at the address of that name. One object serves all requests, so what
    each of them asks for is in a `Stream`."""

    language = settings.LANGUAGE_CODE
    item_guid_is_permalink = True

    feed_type: type[_Written]

    def __init__(self, feed_type: type[_Written], address: str) -> None:
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
        text = Truncator(item.post.body).chars(TITLE)
        return _("%(name)s: %(text)s") % {"name": isolated(item.post.author), "text": text}

    def item_description(self, item: Item) -> str:
        """The whole text, with the links that it has on pages, as whole addresses."""
        key = (item.post.body, item.origin)
        html = _texts.get(key)
        if html is None:
            html = render_to_string("timeline/feeds/_feed_text.html", {"text": item.post.body, "origin": item.origin})
            _texts.put(key, html)
        return html

    def item_link(self, item: Item) -> str:
        return reverse("post", args=[item.post.author.username, item.post.pid])

    def item_author_name(self, item: Item) -> str:
        return item.post.author.shown_name

    def item_author_link(self, item: Item) -> str:
        return item.origin + reverse("profile", args=[item.post.author.username])

    def item_pubdate(self, item: Item) -> datetime:
        return moment_of(item.post.time)

    def item_updateddate(self, item: Item) -> datetime:
        """A post is never changed."""
        return self.item_pubdate(item)


class ProfileFeed(PostsFeed):
    """Somebody's newest 20 posts; as many round trips as a visitor's first page of them. Raises NoSuchUser,
    AccountDeleted."""

    def get_object(self, request: HttpRequest, username: str) -> PersonFeedPosts:
        found = Profiles(connect()).page(_visitor(), username, None)
        return PersonFeedPosts(_items(request, found.page), found.person)

    def title(self, feed_posts: PersonFeedPosts) -> str:
        return _("%(name)s (@%(username)s) on Retwis") % {
            "name": isolated(feed_posts.person),
            "username": feed_posts.person.username,
        }

    def subtitle(self, feed_posts: PersonFeedPosts) -> str:
        return _("Posts by %(name)s, the newest first") % {"name": isolated(feed_posts.person)}

    description = subtitle

    def link(self, feed_posts: PersonFeedPosts) -> str:
        return reverse("profile", args=[feed_posts.person.username])

    def feed_url(self, feed_posts: PersonFeedPosts) -> str:
        """With the name as registered, whatever letter case was asked for."""
        return reverse(self.address, args=[feed_posts.person.username])


class TimelineFeed(PostsFeed):
    """Everybody's newest 50 posts; as many round trips as a visitor's first page of them."""

    def get_object(self, request: HttpRequest) -> FeedPosts:
        found = GlobalTimeline(connect()).page(_visitor(), None, GLOBAL_POSTS)
        return FeedPosts(_items(request, found.page))

    def title(self) -> str:
        return _("Everybody on Retwis")

    def subtitle(self) -> str:
        return _("All posts, the newest first")

    description = subtitle

    def link(self) -> str:
        return reverse("timeline")

    def feed_url(self) -> str:
        return reverse(self.address)


def _visitor() -> Viewer:
    """Whoever asks for a feed sees what visitors see."""
    return Viewer(connect(), "")


def _items(request: HttpRequest, page: Page) -> list[Item]:
    origin = origin_of(request)
    return [Item(post, origin) for post in page.posts]


_kept = publicly_cached(KEPT)
profile_atom = _kept(ProfileFeed(Atom, "profile_atom"))
profile_rss = _kept(ProfileFeed(Rss, "profile_rss"))
timeline_atom = _kept(TimelineFeed(Atom, "timeline_atom"))
timeline_rss = _kept(TimelineFeed(Rss, "timeline_rss"))
