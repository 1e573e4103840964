"""What an app may do, in words: for the page on which a user allows it, and for the settings."""

from collections.abc import Collection

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

WORDS: dict[str, Promise] = {
    "read": _("Read everything that you can read here, also your notifications and bookmarks"),
    "read:accounts": _("See your account and other people's"),
    "read:blocks": _("See whom you block"),
    "read:bookmarks": _("See your bookmarks"),
    "read:favourites": _("See what you like"),
    "read:filters": _("See your muted words"),
    "read:follows": _("See whom you follow"),
    "read:lists": _("See your lists"),
    "read:mutes": _("See whom you mute"),
    "read:notifications": _("See your notifications"),
    "read:search": _("Search for you"),
    "read:statuses": _("Read the posts that you can read"),
    "write": _("Do everything that you can do here: write and delete posts, follow, like, change your profile"),
    "write:accounts": _("Change your profile"),
    "write:blocks": _("Block people"),
    "write:bookmarks": _("Keep and remove bookmarks"),
    "write:favourites": _("Like posts"),
    "write:filters": _("Change your muted words"),
    "write:follows": _("Follow people"),
    "write:lists": _("Change your lists"),
    "write:mutes": _("Mute people and conversations"),
    "write:notifications": _("Clear your notifications"),
    "write:statuses": _("Write and delete posts"),
    "write:conversations": _("Change your conversations"),
    "write:media": _("Upload pictures"),
    "write:reports": _("Report people"),
    "follow": _("Follow, mute and block people"),
    "push": _("Receive your notifications at once"),
    "profile": _("See your name and your profile"),
}


def in_words(scopes: Collection[str]) -> list[Promise]:
    """A sentence for each, without those that another one covers."""
    return [WORDS[scope] for scope in scopes if scope in WORDS and (scope.partition(":")[0] not in {*scopes} - {scope})]
