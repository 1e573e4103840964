"""What an app asks about the site, before anybody is signed in: its name, its rules, what it can do; nodeinfo, too."""

import time
from typing import Any, NamedTuple

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import linebreaks, urlize

from accounts.community.views import keep_dismissed
from accounts.facts.facts import LONGEST_LABEL, LONGEST_VALUE, MOST_FACTS
from accounts.media.decoder import MOST_PIXELS
from accounts.signing_in.html import name_of_announcement
from accounts.users.names import LONGEST_BIO, LONGEST_DISPLAY_NAME
from accounts.users.repository import ask_how_many
from retwis_site.exceptions import NotFound
from retwis_site.identity import Site, ask_site
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import Store, connect
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.local_cache import Memory
from retwis_site.version import of_process
from timeline.api.calls import Call, Endpoint
from timeline.posts.entities import LONGEST_ALT, LONGEST_POST, MOST_PICTURES
from timeline.posts.post_ids import ask_given_out
from timeline.posts.repository import Posts
from timeline.search.index import how_many_timed
from timeline.timelines.everyone import EveryoneList

# ---- What is said of the site


SPEAKS = "4.3.0"  # the version of Mastodon whose API this is
API_VERSION = 2  # of 4.3: grouped notifications
NOT_DATED = "1970-01-01T00:00:00.000Z"  # the site's words have no dates, and apps cannot do without


def version() -> str:
    """Apps read the first number, and offer what that version of Mastodon has. The whole is a version of semver.org,
    as forks of Mastodon write theirs: masto.js up to 5 ends at any other, and Phanpy then takes it for an old one."""
    return f"{SPEAKS}+retwis-{of_process()}"


class SiteNumbers(NamedTuple):
    """How large the site is."""

    people: int
    posts: int  # about; with reposts, and with those that are deleted by now
    # People who have written one of the newest posts, which are about a thousand, in the last four weeks, and in the
    # last half year.
    active_month: int
    active_half_year: int


FOUR_WEEKS, HALF_A_YEAR = 28 * 24 * 3600, 180 * 24 * 3600
_looked_at: Memory[str, SiteNumbers] = Memory(size=2, seconds=3600)


def _about() -> tuple[SiteNumbers, Site]:
    """How large the site is, and its words. Nobody's token is checked: Mastodon answers here when it has ended, and
    Mastodon.py asks before each first call. One round trip; once an hour and process six or more besides."""
    store = connect()
    with store.pipeline() as pipe:
        site, people, posts = ask_site(pipe), ask_how_many(pipe), ask_given_out(pipe)
    known = _looked_at.get_or_make("", lambda: SiteNumbers(0, how_many_timed(store), *_active_people(store)))
    return known._replace(people=people.value, posts=posts.value + known.posts), site.value


def _active_people(store: Store) -> tuple[int, int]:
    records = Posts(store).read(EveryoneList(store).below(LARGEST_ID).ids)
    month, half = [
        len({record.uid for record in records if record.time >= time.time() - since})
        for since in (FOUR_WEEKS, HALF_A_YEAR)
    ]
    return month, half


def _streaming(call: Call) -> str:
    """Apps ask for the address of a stream. There is none below it, so they ask for news from time to time."""
    return call.origin.replace("http", "ws", 1)


def _configuration() -> dict[str, Any]:
    return {
        "statuses": {
            "max_characters": LONGEST_POST,
            "max_media_attachments": MOST_PICTURES if settings.MEDIA_MEMORY else 0,
            # Each character of an address counts, and no number says so. 0 would let apps count none of them.
            "characters_reserved_per_url": 23,
        },
        "accounts": {
            "max_featured_tags": 0,
            "max_pinned_statuses": 1,
            "max_profile_fields": MOST_FACTS,
            "profile_field_name_limit": LONGEST_LABEL,
            "profile_field_value_limit": LONGEST_VALUE,
            "max_display_name_length": LONGEST_DISPLAY_NAME,
            "max_note_length": LONGEST_BIO,
        },
        "media_attachments": {
            "supported_mime_types": [f"image/{kind}" for kind in ("jpeg", "png", "webp", "gif", "heic", "avif")],
            "description_limit": LONGEST_ALT,
            "image_size_limit": settings.LARGEST_UPLOAD,
            "image_matrix_limit": MOST_PIXELS,
            "video_size_limit": 0,
            "video_frame_rate_limit": 0,
            "video_matrix_limit": 0,
        },
        "polls": {"max_options": 0, "max_characters_per_option": 0, "min_expiration": 0, "max_expiration": 0},
    }


def _rules(site: Site) -> list[dict[str, str]]:
    """A report names a rule by its number."""
    return [{"id": str(number), "text": text, "hint": ""} for number, text in enumerate(site.numbered_rules, start=1)]


def _email(site: Site) -> str:
    """The contact, when it is an address. It may be any line."""
    return site.contact if "@" in site.contact.strip("@") and len(site.contact.split()) == 1 else ""


def _languages() -> list[str]:
    return [code for code, _ in settings.LANGUAGES]


def instance(call: Call) -> object:
    numbers, site = _about()
    return {
        "domain": call.request.get_host(),
        "title": site.name,
        "version": version(),
        "source_url": call.origin + reverse("about"),  # the code has no address that all sites share
        "description": site.shown_tagline,
        "usage": {"users": {"active_month": numbers.active_month}},
        "thumbnail": {"url": call.origin + static("icon-512.png")},
        "icon": [{"src": call.origin + static(f"icon-{size}.png"), "size": f"{size}x{size}"} for size in (192, 512)],
        "languages": _languages(),
        "configuration": {
            "urls": {
                "streaming": _streaming(call),
                "about": call.origin + reverse("about"),
                "privacy_policy": call.origin + reverse("privacy"),
            },
            "vapid": {"public_key": ""},
            **_configuration(),
            "translation": {"enabled": False},
        },
        "registrations": {
            "enabled": site.can_register,
            "approval_required": site.registration == "approval",
            "reason_required": site.registration == "approval",
            "message": None,
            "min_age": None,
            "url": None,
        },
        "api_versions": {"mastodon": API_VERSION},
        "contact": {"email": _email(site), "account": None},
        "rules": _rules(site),
    }


def instance_v1(call: Call) -> object:
    numbers, site = _about()
    return {
        "uri": call.request.get_host(),
        "title": site.name,
        "short_description": site.shown_tagline,
        "description": _as_html(site.about) or site.shown_tagline,
        "email": _email(site),
        "version": version(),
        "urls": {"streaming_api": _streaming(call)},
        "stats": {"user_count": numbers.people, "status_count": numbers.posts, "domain_count": 0},
        "thumbnail": call.origin + static("icon-512.png"),
        "languages": _languages(),
        "registrations": site.can_register,
        "approval_required": site.registration == "approval",
        "invites_enabled": site.invites > 0,
        "configuration": _configuration(),
        "contact_account": None,
        "rules": _rules(site),
    }


def _as_html(text: str) -> str:
    """As the pages about the site show it."""
    return linebreaks(urlize(text, nofollow=True, autoescape=True)) if text else ""


def rules(call: Call) -> object:
    return _rules(call.viewer.site)


def extended_description(call: Call) -> object:
    return {"updated_at": NOT_DATED, "content": _as_html(call.viewer.site.about)}


def privacy_policy(call: Call) -> object:
    """What the site says itself. The page has also what every Retwis stores."""
    return {"updated_at": NOT_DATED, "content": _as_html(call.viewer.site.privacy)}


def languages(call: Call) -> object:
    return [{"code": code, "name": str(name)} for code, name in settings.LANGUAGES]


# ---- The announcement of the site


def announcements(call: Call) -> object:
    """The one that stands above every page; a dismissed one only when the app asks for those too."""
    call.viewer.require_user()
    site, dismissed = call.viewer.site, call.viewer.checked.dismissed
    name = name_of_announcement(site)
    if not site.announcement or (dismissed == name and not call.sent.flag("with_dismissed")):
        return []
    nothing: dict[str, list[str]] = {each: [] for each in ("mentions", "statuses", "tags", "emojis", "reactions")}
    dates = {"starts_at": None, "ends_at": None, "published_at": NOT_DATED, "updated_at": NOT_DATED}
    about = {"id": name, "content": _as_html(site.announcement), "read": dismissed == name}
    return [about | {"all_day": False, "published": True} | dates | nothing]


def dismiss_announcement(call: Call) -> object:
    """Raises NotFound for another than the one that stands now, TooOften."""
    if not keep_dismissed(call.viewer.require_user(), call.named["id"]):
        raise NotFound
    return {}


# ---- Nodeinfo: https://nodeinfo.diaspora.software/


def nodeinfo_links(call: Call) -> object:
    schema = "http://nodeinfo.diaspora.software/ns/schema/2.0"
    return {"links": [{"rel": schema, "href": call.origin + reverse("nodeinfo", args=["2.0"])}]}


def nodeinfo(call: Call) -> object:
    numbers, site = _about()
    return {
        "version": "2.0",
        "software": {"name": "retwis", "version": of_process()},
        "protocols": [],
        "services": {"inbound": [], "outbound": ["atom1.0", "rss2.0"]},
        "openRegistrations": site.registration == "open",
        "usage": {
            "users": {
                "total": numbers.people,
                "activeMonth": numbers.active_month,
                "activeHalfyear": numbers.active_half_year,
            },
            "localPosts": numbers.posts,
        },
        "metadata": {
            "nodeName": site.name,
            "nodeDescription": site.shown_tagline,
            "upstream": {"name": "mastodon"},  # where megalodon, a library of apps, looks for the API of a site
        },
    }


# ---- What Mastodon has and this site has not. Apps ask for it when they start, and show an empty list as nothing.
#
# What is not listed in any table of this room answers 404: subscriptions to pushed news, streams, polls, lists to
# change.


def preferences(call: Call) -> object:
    """The language is the one in which the site answers this app: without one, some cannot write a post."""
    return {
        "posting:default:visibility": "public",
        "posting:default:sensitive": False,
        "posting:default:language": active_language(),
        "posting:default:quote_policy": "public",
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": False,
    }


def notification_policy(call: Call) -> object:
    """Which notices a user gets is chosen by kind, on a page of the settings. None wait for an answer."""
    people = ("not_following", "not_followers", "new_accounts", "private_mentions", "limited_accounts")
    waiting = {"pending_requests_count": 0, "pending_notifications_count": 0}
    return {**{f"for_{each}": "accept" for each in people}, "summary": waiting}


# Whether what an accepted person had sent stands among the notices. Nothing waits, so it does.
MERGED = {"merged": True}

# By what a token must allow; empty: nobody need be signed in.
LISTS = {
    "": (
        "/api/v1/custom_emojis",
        "/api/v1/instance/peers",
        "/api/v1/instance/activity",
        "/api/v1/instance/domain_blocks",
        "/api/v1/trends/links",
        "/api/v1/accounts/:id/featured_tags",
        "/api/v1/accounts/:id/endorsements",
    ),
    "read:lists": ("/api/v1/lists", "/api/v1/accounts/:id/lists"),
    "read:filters": ("/api/v1/filters", "/api/v2/filters"),
    "read:statuses": ("/api/v1/conversations", "/api/v1/scheduled_statuses"),
    "read:accounts": (
        "/api/v1/featured_tags",
        "/api/v1/featured_tags/suggestions",
        "/api/v1/endorsements",
        "/api/v1/accounts/:id/identity_proofs",
    ),
    "read:follows": ("/api/v1/follow_requests", "/api/v1/domain_blocks"),
    "read:notifications": ("/api/v1/notifications/requests",),
}

# ---- Addresses


ENDPOINTS = (
    Endpoint("GET", "/api/v1/instance", instance_v1),
    Endpoint("GET", "/api/v2/instance", instance),
    Endpoint("GET", "/api/v1/instance/rules", rules),
    Endpoint("GET", "/api/v1/instance/extended_description", extended_description),
    Endpoint("GET", "/api/v1/instance/privacy_policy", privacy_policy),
    Endpoint("GET", "/api/v1/instance/translation_languages", lambda call: {}),
    Endpoint("GET", "/api/v1/instance/languages", languages),
    Endpoint("GET", "/api/v1/announcements", announcements, "read"),
    Endpoint("POST", "/api/v1/announcements/:id/dismiss", dismiss_announcement, "write:accounts", open_to_frozen=True),
    Endpoint("GET", "/.well-known/nodeinfo", nodeinfo_links),
    Endpoint("GET", "/nodeinfo/2.0", nodeinfo),
    *(Endpoint("GET", address, lambda call: [], scope) for scope, addresses in LISTS.items() for address in addresses),
    Endpoint("GET", "/api/v1/preferences", preferences, "read:accounts"),
    Endpoint("GET", "/api/v2/notifications/policy", notification_policy, "read:notifications"),
    Endpoint("GET", "/api/v1/notifications/requests/merged", lambda call: MERGED, "read:notifications"),
)
