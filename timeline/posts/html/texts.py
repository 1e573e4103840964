"""A text with its links as HTML."""

from accounts.users.html import at
from retwis_site.rendering.fragments import Fragment, Html, escaped, joined
from timeline.posts.html.links import Segment, may_have_links, segments

LINK = Fragment("timeline/posts/_link.html", slots=("address", "text"))
MENTION = Fragment("timeline/posts/_mention.html", slots=("origin", "at", "text"))


def html_of(text: str, language: str, origin: str = "") -> Html:
    """A text of a user. `origin`, such as `https://retwis.example`, makes the links to profiles absolute."""
    if not may_have_links(text):
        return escaped(text)
    return joined(_segment(part, language, origin) for part in segments(text))


def _segment(part: Segment, language: str, origin: str) -> str:
    if part.name:
        return MENTION.fill(language, origin=origin, at=at(part.name), text=part.text)
    if part.address:
        return LINK.fill(language, address=part.address, text=part.text)
    return part.text
