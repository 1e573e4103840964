"""Our people and posts as Mastodon's entities. https://docs.joinmastodon.org/entities/

Each entity is a dict as it is written, and one function makes it. It asks nothing of the store. What an app shows of a
text is HTML, whose links are as apps look for them: `class="mention"`, `class="hashtag"`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from html import escape
from typing import Any, NamedTuple

from django.templatetags.static import static
from django.urls import reverse

from accounts.facts.facts import Fact
from accounts.users.entities import User
from accounts.users.html import SIZES, header_address, media_address, picture_address
from retwis_site.http.apps import list_of, written
from retwis_site.rendering.dates import moment_of
from retwis_site.store.local_cache import Memory
from timeline.posts.entities import Acted, Picture, Post
from timeline.posts.links import Segment, folded, may_have_links, segments, tags_in
from timeline.relations.relations import FollowCounts

Entity = dict[str, Any]

# ---- Dates


@lru_cache(maxsize=5000)
def date_time(seconds: int) -> str:
    """ISO 8601 with milliseconds, which parsers of some apps insist on."""
    return f"{moment_of(seconds):%Y-%m-%dT%H:%M:%S}.000Z"


def date(seconds: int) -> str:
    return f"{moment_of(seconds):%Y-%m-%d}"


# ---- Addresses, without a last slash, as apps show and compare them. `origin`: such as `https://retwis.example`.


@lru_cache(maxsize=5000)
def address_of_account(origin: str, username: str) -> str:
    return f"{origin}{reverse('profile', args=[username])[:-1]}"


def address_of_status(origin: str, username: str, pid: int) -> str:
    return f"{address_of_account(origin, username)}/{pid}"


@lru_cache(maxsize=1000)
def address_of_tag(origin: str, folded_tag: str) -> str:
    return f"{origin}{reverse('tag', args=[folded_tag])[:-1]}"


# ---- Texts as HTML


_line_breaks = re.compile("\r\n?")
_paragraphs = re.compile("\n{2,}")
_parts_of_address = re.compile("(https?://(?:www\\.)?)?(.{0,30})(.*)", re.IGNORECASE | re.DOTALL)
REL = "nofollow noopener noreferrer"


@lru_cache(maxsize=4000)
def html_of(text: str, origin: str, names: tuple[str, ...] | None = None) -> str:
    """A text with its links, in paragraphs. `names`: the usernames that are links; None: all."""
    if may_have_links(text):
        known = None if names is None else {name.lower(): name for name in names}
        return _in_paragraphs("".join([_segment(part, origin, known) for part in segments(text)]))
    return plain_html(text)


def plain_html(text: str) -> str:
    """A text in paragraphs, without links. Empty for an empty text."""
    return _in_paragraphs(escape(text)) if text else ""


def _in_paragraphs(html: str) -> str:
    if "\r" in html:  # in texts of a foreign database
        html = _line_breaks.sub("\n", html)
    if "\n" not in html:
        return f"<p>{html}</p>"
    return f"<p>{_paragraphs.sub('</p><p>', html).replace(chr(10), '<br>')}</p>"


def _segment(part: Segment, origin: str, known: Mapping[str, str] | None) -> str:
    """`known`: usernames as their owners write them, by lower case. Apps compare a link with the `url` of a mention."""
    username = part.name if known is None else known.get(part.name.lower())
    if username:
        address = escape(address_of_account(origin, username))
        name = f"{escape(part.text[0])}<span>{escape(part.name)}</span>"
        return f'<span class="h-card" translate="no"><a href="{address}" class="u-url mention">{name}</a></span>'
    if part.tag:
        address = escape(address_of_tag(origin, folded(part.tag)))
        return f'<a href="{address}" class="mention hashtag" rel="tag">#<span>{escape(part.tag)}</span></a>'
    if part.address:
        return _link(part.address, part.text)
    return escape(part.text)


def _link(address: str, text: str, rel: str = REL) -> str:
    """A web address as a link. Apps hide what is `invisible`, and show dots after what is in `ellipsis`."""
    found = _parts_of_address.fullmatch(text)
    assert found is not None  # each part may be empty
    before, shown, after = (escape(part or "") for part in found.groups())
    inner = (
        f'<span class="invisible">{before}</span><span class="{"ellipsis" if after else ""}">{shown}</span>'
        f'<span class="invisible">{after}</span>'
    )
    return f'<a href="{escape(address)}" target="_blank" rel="{rel}" translate="no">{inner}</a>'


# ---- Accounts


class Profile(NamedTuple):
    """What an account shows of a person beside their names."""

    bio: str = ""  # empty without one
    facts: tuple[Fact, ...] = ()
    follows: FollowCounts = FollowCounts(0, 0)
    statuses: int = 0  # posts and reposts
    joined: int = 0  # unix seconds; 0 when the store has no date
    last_status: int | None = None  # unix seconds
    header: str = ""  # the digest of the wide picture; empty without one


NO_PROFILE = Profile()


_static = cache(static)  # the names of files have no part that changes while the process runs


def account_of(origin: str, user: User, profile: Profile) -> Entity:
    """A person. https://docs.joinmastodon.org/entities/Account/"""
    url = address_of_account(origin, user.username)
    avatar = origin + (picture_address(user, SIZES[-1]) or _static("avatar.png"))
    header = origin + (header_address(profile.header) or _static("header.png"))
    return {
        "id": str(user.uid),
        "username": user.username,
        "acct": user.username,
        "display_name": user.name,
        "locked": False,
        "bot": False,
        "group": False,
        "discoverable": True,
        "indexable": True,
        "noindex": False,
        "hide_collections": False,
        "created_at": date_time(profile.joined),
        "note": plain_html(profile.bio),
        "url": url,
        "uri": url,
        "avatar": avatar,
        "avatar_static": avatar,
        "header": header,
        "header_static": header,
        "followers_count": profile.follows.followers,
        "following_count": profile.follows.following,
        "statuses_count": profile.statuses,
        "last_status_at": None if profile.last_status is None else date(profile.last_status),
        "emojis": [],
        "roles": [],
        "fields": [_field(fact) for fact in profile.facts],
    }


def _field(fact: Fact) -> Entity:
    value = _link(fact.value, fact.value, f"{REL} me") if fact.is_link else escape(fact.value)
    verified = None if fact.verified is None else date_time(fact.verified)
    return {"name": fact.label, "value": value, "verified_at": verified}


# ---- Pictures


def attachment_of(origin: str, picture: Picture) -> Entity:
    """A picture. https://docs.joinmastodon.org/entities/MediaAttachment/"""
    width, height = picture.width, picture.height
    scale = min(1.0, 600 / max(width, height))
    x, _, y = (picture.focus or "0,0").partition(",")
    return {
        "id": picture.digest,
        "type": "image",
        "url": f"{origin}{media_address(picture.digest)}",
        "preview_url": f"{origin}{media_address(picture.small)}",
        "remote_url": None,
        "text_url": None,
        "meta": {
            "original": _size(width, height),
            "small": _size(max(1, round(width * scale)), max(1, round(height * scale))),
            "focus": {"x": float(x), "y": float(y)},
        },
        "description": picture.alt or None,
        "blurhash": picture.blurhash or None,
    }


def _size(width: int, height: int) -> dict[str, object]:
    return {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / height}


# ---- Statuses


class StatusDetails(NamedTuple):
    """What statuses show beside their posts."""

    origin: str
    people: Mapping[int, User]  # whom the posts name, by uid
    profiles: Mapping[int, Profile]  # of the authors, by uid
    muted_threads: Collection[str]  # first posts of threads (ids as text), of the viewer
    pinned: int | None  # the post that the viewer has pinned


# By the id of a post or of its repost, and what the viewer has done with it: the status as it was written last, and
# what that was made of. An entry has some 2 KB, so all have 6 MB.
_written: Memory[tuple[int, Acted], tuple[object, bytes]] = Memory(size=3000, seconds=3600)


def written_statuses(posts: Sequence[Post], shown: StatusDetails) -> bytes:
    """In JSON, the list of `status_of` each. To most viewers a post looks the same and is the same object, as the
    profiles of its people are, so what was written last serves again."""
    profiles, items = shown.profiles, []
    says_more = bool(shown.muted_threads) or shown.pinned is not None
    keys = [(post.context.listed or post.pid, post.context.acted) for post in posts]
    known = _written.some(keys)
    for key, post in zip(keys, posts, strict=True):
        author, context = post.author.uid, post.context
        listed_by = author if context.listed is None else context.reposted_by[0].uid
        quoted = None if context.quoted is None else profiles.get(context.quoted.author.uid)
        of_viewer = _of_viewer(post, shown) if says_more else []
        made_of = (post, profiles.get(author), profiles.get(listed_by), quoted, shown.origin, of_viewer)
        kept = known.get(key)
        if kept is None or kept[0] != made_of:
            kept = made_of, written(status_of(post, shown))
            _written.put(key, kept)
        items.append(kept[1])
    return list_of(items)


def _of_viewer(post: Post, shown: StatusDetails) -> list[tuple[str, int]]:
    """What a status says of its viewer beside the post: which of it and of what it quotes is muted, and is pinned."""
    both = [one for one in (post, post.context.quoted) if one is not None]
    muted = [("muted", one.pid) for one in both if _is_muted(one, shown)]
    return muted + [("pinned", one.pid) for one in both if one.pid == shown.pinned]


def _is_muted(post: Post, shown: StatusDetails) -> bool:
    return bool(shown.muted_threads) and str(post.links.thread(post.pid)) in shown.muted_threads


def _account(user: User, shown: StatusDetails) -> Entity:
    return account_of(shown.origin, user, shown.profiles.get(user.uid, NO_PROFILE))


def status_of(post: Post, shown: StatusDetails) -> Entity:
    """A post; where the list has it by a repost, the repost with the post inside.
    https://docs.joinmastodon.org/entities/Status/"""
    quote = _quote(post.context.quoted, shown) if post.links.quote else None
    status = _status(post, shown, quote)
    return status if post.context.listed is None else _repost(post, status, shown)


def _repost(post: Post, status: Entity, shown: StatusDetails) -> Entity:
    """A repost: it looks as the post does, has its own id, date and author, and answers nothing."""
    who, pid = post.listed_by, post.listed
    url = address_of_status(shown.origin, who.username, pid)
    return {
        **status,
        "id": str(pid),
        "created_at": date_time(post.context.listed_time),
        "in_reply_to_id": None,
        "in_reply_to_account_id": None,
        "uri": url,
        "url": url,
        "edited_at": None,
        "pinned": False,
        "reblog": status,
        "account": _account(who, shown),
        "quote": None,
    }


def _status(post: Post, shown: StatusDetails, quote: Entity | None) -> Entity:
    pid, author, body, time, links, counts, edited, language, media, context = post
    origin, acted = shown.origin, context.acted
    url = address_of_status(origin, author.username, pid)
    mentions = _mentions(links.mentions or (), context.mentioned or (), shown)
    content = html_of(body, origin, None if context.mentioned is None else names_of(mentions))
    if context.quoted is not None:
        content = _link_to(context.quoted, body, origin) + content
    return {
        "id": str(pid),
        "created_at": date_time(time),
        "in_reply_to_id": None if links.reply_to is None else str(links.reply_to),
        "in_reply_to_account_id": None if links.reply_to_user is None else str(links.reply_to_user),
        "sensitive": media.sensitive,
        "spoiler_text": "",
        "visibility": "public",
        "language": language or None,
        "uri": url,
        "url": url,
        "replies_count": counts.replies,
        "reblogs_count": counts.reposts,
        "favourites_count": counts.likes,
        "quotes_count": counts.quotes,
        "edited_at": None if edited is None else date_time(edited),
        "favourited": acted.liked,
        "reblogged": acted.reposted,
        "muted": _is_muted(post, shown),
        "bookmarked": acted.bookmarked,
        "pinned": pid == shown.pinned,
        "content": content,
        "filtered": [] if context.muted is None else [_filtered(context.muted)],
        "reblog": None,
        "application": None,
        "account": _account(author, shown),
        "media_attachments": [attachment_of(origin, picture) for picture in media.pictures],
        "mentions": mentions,
        "tags": [{"name": name, "url": address_of_tag(origin, name)} for name in tags_in(body)],
        "emojis": [],
        "card": None,
        "poll": None,
        "quote": quote,
    }


def _quote(quoted: Post | None, shown: StatusDetails) -> Entity:
    """A quoted post; what it quotes itself is only named. A post that the viewer does not see is `unauthorized`.
    https://docs.joinmastodon.org/entities/Quote/"""
    if quoted is None:
        return {"state": "unauthorized", "quoted_status": None}
    inner = quoted.links.quote
    shallow = None if inner is None else {"state": "accepted", "quoted_status_id": str(inner)}
    return {"state": "accepted", "quoted_status": _status(quoted, shown, shallow)}


def _link_to(quoted: Post, body: str, origin: str) -> str:
    """For apps that show no quotes; those that do hide it. Empty where the text links there itself.
    https://docs.joinmastodon.org/client/quotes/"""
    address = address_of_status(origin, quoted.author.username, quoted.pid)
    if re.search(rf"{re.escape(address)}\b", body):
        return ""
    return f'<p class="quote-inline">RE: {_link(address, address)}</p>'


def _mentions(uids: Sequence[int], names: Collection[str], shown: StatusDetails) -> list[Entity]:
    """Those of these people whose names are links in the text."""
    if not names:
        return []
    people = [person for uid in uids if (person := shown.people.get(uid)) and person.username.lower() in names]
    return [mention_of(shown.origin, person) for person in people]


def mention_of(origin: str, person: User) -> Entity:
    name = person.username
    return {"id": str(person.uid), "username": name, "acct": name, "url": address_of_account(origin, name)}


def names_of(mentions: Sequence[Entity]) -> tuple[str, ...]:
    return tuple(one["username"] for one in mentions)


# Apps heed a filter only in the lists that its context names. The site says of a post that it is muted in those alone.
EVERY_CONTEXT = ["home", "notifications", "public", "thread", "account"]


def _filtered(words: str) -> Entity:
    """Muted words, as a filter of Mastodon that hides behind a warning."""
    keyword = {"id": "0", "title": words, "context": EVERY_CONTEXT, "expires_at": None, "filter_action": "warn"}
    return {"filter": keyword, "keyword_matches": [words], "status_matches": None}
