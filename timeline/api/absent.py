"""What Mastodon has and this site has not. Apps ask for it when they start, and show an empty list as nothing.

What is not listed in any table of this room answers 404: subscriptions to pushed news, streams, polls, lists to change.
"""

from retwis_site.rendering.fragments import active_language
from timeline.api.calls import Call, Endpoint


def nothing(call: Call) -> object:
    return []


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


def requests_merged(call: Call) -> object:
    """Whether what an accepted person had sent stands among the notices. Nothing waits, so it does."""
    return {"merged": True}


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

ENDPOINTS = (
    *(Endpoint("GET", address, nothing, scope) for scope, addresses in LISTS.items() for address in addresses),
    Endpoint("GET", "/api/v1/preferences", preferences, "read:accounts"),
    Endpoint("GET", "/api/v2/notifications/policy", notification_policy, "read:notifications"),
    Endpoint("GET", "/api/v1/notifications/requests/merged", requests_merged, "read:notifications"),
)
