"""What programs read of the site: Atom and RSS feeds of the newest posts of a user, of a tag, and of everyone; and for
search engines, robots.txt and the sitemap with all profiles.

A feed has what a visitor sees, in the site's own language, also for a signed-in user. So it is the same for everyone,
and it stays the same until a post or a name changes.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from xml.sax.xmlreader import AttributesImpl

from django.conf import settings
from django.contrib.sitemaps import Sitemap, views as sitemaps
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed, SyndicationFeed
from django.utils.http import http_date
from django.utils.translation import gettext as _, override
from django.utils.xmlutils import SimplerXMLGenerator

from accounts.signing_in.viewer import Viewer
from accounts.users.html import SIZES, isolated, picture_address
from accounts.users.repository import Users, ask_how_many
from retwis_site.http.public_cache import publicly_cached
from retwis_site.identity import known_site
from retwis_site.rendering.dates import moment_of
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, with_line_breaks
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import answer, connect, rest
from timeline.people.directory import read_shown_names
from timeline.posts.entities import Post
from timeline.posts.html import beginning_of, html_of, pictures_in_feed, words_of
from timeline.posts.links import folded
from timeline.tags.tags import TagPages
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.profile import Profiles, Tab

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
        pictures=pictures_in_feed(post.media, language, origin),
        answered=answered.username if answered else "",
        answered_address=address_answered(post, origin) or "",
        quoted_name=quoted.author.shown_name if quoted else "",
        quoted_address=address_quoted(post, origin) or "",
        quoted_text=_text(quoted, language, origin) if quoted else "",
        quoted_pictures=pictures_in_feed(quoted.media, language, origin) if quoted else NOTHING,
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


FEED_AGE = 60  # seconds that a cache may keep a feed
LANGUAGE = settings.LANGUAGE_CODE
TITLE_LENGTH = 60  # characters of a post
NEVER_UPDATED = moment_of(0)  # both formats need a date, also for a feed without posts

# XML 1.0 allows no control characters but tabs and line ends (2.2), and no surrogates.
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

THREADING = "http://purl.org/syndication/thread/1.0"  # RFC 4685


class FeedPosts(NamedTuple):
    """The posts of a feed, newest first, and what it says of itself. `page`: the name of the page that has the same
    posts, and its arguments. The address of the feed has them too: the username as registered, the folded tag."""

    posts: Sequence[Post]
    title: str
    subtitle: str
    page: str
    args: Sequence[str] = ()
    picture: str = ""  # the path of a square picture; empty without one


def of_profile(username: str) -> FeedPosts:
    """The newest 20 posts that a user wrote to everyone: as on the first page of the profile, without reposts. They are
    looked for among the 200 newest posts and reposts. As many round trips as that page takes for a visitor.
    Raises NoSuchUser, AccountDeleted."""
    found = Profiles(connect()).page(_visitor(), username, None, Tab.FEED)
    person, name = found.person, isolated(found.person)
    names = {"site": known_site().name, "name": name, "username": person.username}
    return FeedPosts(
        found.page.posts,
        (_("%(name)s (@%(username)s) on %(site)s") if person.name else _("%(name)s on %(site)s")) % names,
        _("Posts by %(name)s, newest first") % {"name": name},
        "profile",
        [person.username],
        picture_address(person, SIZES[1]),
    )


EVERYONES_ENTRIES = 50


def of_everyone() -> FeedPosts:
    """Everyone's newest posts, EVERYONES_ENTRIES of them. As many round trips as a visitor's first page of the global
    timeline."""
    found = EveryoneTimeline(connect()).page(_visitor(), None, EVERYONES_ENTRIES)
    title = _("Everyone on %(site)s") % {"site": known_site().name}
    return FeedPosts(found.page.posts, title, _("All posts, newest first"), "timeline")


def of_tag(tag: str) -> FeedPosts:
    """The newest 20 posts with a tag. As many round trips as a visitor's first page of the tag. Raises NoSuchTag."""
    found, page = TagPages(connect()).page(_visitor(), folded(tag), None)
    spelling = {"tag": found.spelling}
    title = _("#%(tag)s on %(site)s") % {**spelling, "site": known_site().name}
    return FeedPosts(page.posts, title, _("Posts with #%(tag)s, newest first") % spelling, "tag", [found.folded])


def _visitor() -> Viewer:
    """A feed has what visitors see, also for a signed-in user. What it asks also brings the site's name."""
    return Viewer(connect(), "")


class _ValidFeed(SyndicationFeed):
    """For both formats: no character that XML forbids, and no date but those of posts."""

    content_type: str
    ending: str  # of the names of its addresses

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
    """RSS 2.0. Titles are plain text, as in the RSS Board's profile; descriptions are HTML. A picture may
    have 144 pixels there, so it is of the middle size."""

    ending = "rss"

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        if self.feed["picture"]:
            handler.startElement("image", AttributesImpl({}))
            for name in ("url", "title", "link"):
                handler.addQuickElement(name, self.feed["picture" if name == "url" else name])
            handler.endElement("image")


class Atom(_ValidFeed, Atom1Feed):
    """Atom 1.0. A post is the content of an entry; Django would make it the summary. A reply names the entry that it
    replies to, so that readers show threads."""

    ending = "atom"

    def root_attributes(self) -> dict[str, str]:
        return super().root_attributes() | {"xmlns:thr": THREADING}

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        if self.feed["picture"]:
            handler.addQuickElement("icon", self.feed["picture"])

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        handler.addQuickElement("content", item["description"], {"type": "html"})
        if item["answered"]:
            attributes = {"ref": item["answered"], "href": item["answered"], "type": "text/html"}
            handler.addQuickElement("thr:in-reply-to", "", attributes)
        if item["quoted"]:
            handler.addQuickElement("link", "", {"rel": "related", "href": item["quoted"], "type": "text/html"})


def _feed(format_: type[_ValidFeed], read: Callable[..., FeedPosts]) -> Callable[..., HttpResponse]:
    """A view that answers with posts as a feed."""

    @publicly_cached(FEED_AGE)
    def view(request: HttpRequest, **named: str) -> HttpResponse:
        with override(LANGUAGE):
            feed = _filled(format_, read(**named), origin_of(request))
        response = HttpResponse(feed.writeString("utf-8"), content_type=format_.content_type)
        response["Content-Language"] = LANGUAGE
        if feed.items:
            response["Last-Modified"] = http_date(feed.latest_post_date().timestamp())
        return response

    return view


def _filled(format_: type[_ValidFeed], found: FeedPosts, origin: str) -> _ValidFeed:
    feed = format_(
        title=found.title,
        subtitle=found.subtitle,
        description=found.subtitle,
        link=origin + reverse(found.page, args=found.args),
        feed_url=origin + reverse(f"{found.page}_{format_.ending}", args=found.args),
        language=LANGUAGE,
        picture=found.picture and origin + found.picture,
    )
    for post in found.posts:
        author = post.author
        address = origin + reverse("post", args=[author.username, post.pid])
        feed.add_item(
            title=_("%(name)s: %(text)s")
            % {"name": isolated(author), "text": beginning_of(words_of(post.body, post.media), TITLE_LENGTH)},
            link=address,
            unique_id=address,
            unique_id_is_permalink=True,
            description=item_html(post, LANGUAGE, origin),
            author_name=author.shown_name,
            author_link=origin + reverse("profile", args=[author.username]),
            pubdate=moment_of(post.time),
            updateddate=moment_of(post.edited or post.time),  # when the text that stands now was written
            # Addresses, of which each is also the id of that post's own entry.
            answered=address_answered(post, origin),
            quoted=address_quoted(post, origin),
        )
    return feed


# ---- robots.txt and the sitemap


SITEMAP_AGE = 3600  # seconds that a cache may keep an answer
PEOPLE_A_PART = 1000  # an index has room for 50,000 parts (sitemaps.org)
XML = "application/xml; charset=utf-8"


class AllUsernames:
    """All usernames, as a list for Django's paginator. A part is read only when the paginator asks for it, and lacks
    people whom staff has hidden or suspended."""

    def __len__(self) -> int:
        """One round trip."""
        return answer(connect(), ask_how_many)

    def __getitem__(self, part: slice) -> list[str]:
        """Three round trips; one while all users of the part are cached, none for an empty part."""
        store = connect()
        names, pipe = Users(store).in_order(part.start, part.stop - part.start), store.pipeline()
        return rest(pipe, read_shown_names(pipe, names, None))


class FixedPages(Sitemap):  # type: ignore[type-arg]
    """Pages that exist without users."""

    def items(self) -> list[str]:
        parts = {"explore": settings.EXPLORE, "book": settings.BOOK}
        return ["home", "timeline", "people", *(name for name, is_on in parts.items() if is_on)]

    def location(self, name: str) -> str:
        return reverse(name)


class ProfilePages(Sitemap):  # type: ignore[type-arg]
    """All profiles, without dates: these would take two more commands for each user of a part."""

    limit = PEOPLE_A_PART

    def items(self) -> AllUsernames:  # type: ignore[override]
        return AllUsernames()

    def location(self, name: str) -> str:
        return reverse("profile", args=[name])


_PARTS: "dict[str, type[Sitemap[Any]] | Sitemap[Any]]" = {"pages": FixedPages, "people": ProfilePages}


@publicly_cached(SITEMAP_AGE)
def sitemap(request: HttpRequest) -> HttpResponse:
    """The index of the parts. One round trip."""
    return sitemaps.index(request, _PARTS, sitemap_url_name="sitemap_part", content_type=XML)


@publicly_cached(SITEMAP_AGE)
def sitemap_part(request: HttpRequest, section: str) -> HttpResponse:
    """The fixed pages, without a round trip; or at most PEOPLE_A_PART profiles of page `?p=`, with at most four round
    trips."""
    return sitemaps.sitemap(request, _PARTS, section, content_type=XML)


@publicly_cached(SITEMAP_AGE)
def robots(request: HttpRequest) -> HttpResponse:
    """No round trip."""
    address = origin_of(request) + reverse("sitemap")
    return render(
        request,
        "timeline/feeds/robots.txt",
        {"sitemap": address, "top": reverse("home")},
        content_type="text/plain; charset=utf-8",
    )


# ---- Addresses


urlpatterns = [
    path("timeline/atom/", _feed(Atom, of_everyone), name="timeline_atom"),
    path("timeline/rss/", _feed(Rss, of_everyone), name="timeline_rss"),
    path("@<username:username>/atom/", _feed(Atom, of_profile), name="profile_atom"),
    path("@<username:username>/rss/", _feed(Rss, of_profile), name="profile_rss"),
    path("tags/<str:tag>/atom/", _feed(Atom, of_tag), name="tag_atom"),
    path("robots.txt", robots, name="robots"),
    path("sitemap.xml", sitemap, name="sitemap"),
    path("sitemap-<slug:section>.xml", sitemap_part, name="sitemap_part"),
]
