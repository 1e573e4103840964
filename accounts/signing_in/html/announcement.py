"""The announcement of the site, above every page, until the signed-in viewer dismisses it. Visitors always see it."""

import hashlib
from functools import lru_cache

from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment, Html

ANNOUNCEMENT = Fragment(
    "accounts/signing_in/_announcement.html", slots=("text", "name"), shape={"can_be_dismissed": EITHER}
)


def announcement(text: str, dismissed: str | None, language: str) -> Html:
    """Nothing without a text, and nothing when `dismissed` names this text. `dismissed` is None for a visitor."""
    if not text or dismissed == name_of_announcement(text):
        return NOTHING
    return ANNOUNCEMENT.fill(
        language, can_be_dismissed=dismissed is not None, text=text, name=name_of_announcement(text)
    )


@lru_cache(maxsize=8)
def name_of_announcement(text: str) -> str:
    """Another text has another name, so that it is shown again."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dismissed_by(typed: str) -> str:
    """The name in the form of an announcement, as it is stored; what is no name is cut off."""
    return typed[:16] if typed.isalnum() else ""
