"""A text with its links as HTML."""

from accounts.users.html import at
from retwis_site.rendering.fragments import Fragment, Html, escaped, joined
from retwis_site.store.local_cache import Memory
from timeline.posts.entities import Post
from timeline.posts.html.links import Segment, may_have_links, segments

LINK = Fragment("timeline/posts/_link.html", slots=("address", "text"))
MENTION = Fragment("timeline/posts/_mention.html", slots=("origin", "at", "text"))

# The texts of posts with links, and their HTML: links take 100 us to find. By pid; some 3 MB.
_linked: Memory[int, tuple[str, Html]] = Memory(size=4000, seconds=3600)


def html_of_post(post: Post, language: str) -> Html:
    """A post's text on a page."""
    if not may_have_links(post.body):
        return escaped(post.body)
    known = _linked.get(post.pid)
    if known is None or known[0] != post.body:
        known = (post.body, html_of(post.body, language))
        _linked.put(post.pid, known)
    return known[1]


def html_of(text: str, language: str, origin: str = "") -> Html:
    """Any text. `origin`, such as `https://retwis.example`, makes the links to profiles absolute."""
    return joined(_segment(part, language, origin) for part in segments(text))


def _segment(part: Segment, language: str, origin: str) -> str:
    if part.name:
        return MENTION.fill(language, origin=origin, at=at(part.name), text=part.text)
    if part.address:
        return LINK.fill(language, address=part.address, text=part.text)
    return part.text
