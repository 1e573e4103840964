"""The terms under which a post stands in the index: its words, and what the operators of a search ask for.

A term of an operator has a colon or a hash sign, so no word is the same.
"""

from timeline.language.stems import written_terms
from timeline.language.words import words
from timeline.posts.entities import Links
from timeline.posts.parsing.links import may_have_links, segments
from timeline.posts.parsing.tags import folded

HAS_LINK = "has:link"
IS_REPLY = "is:reply"


def from_user(uid: int) -> str:
    return f"from:{uid}"


def to_user(uid: int) -> str:
    return f"to:{uid}"


def tag(folded_tag: str) -> str:
    return f"#{folded_tag}"


def terms_of(uid: int, body: str, links: Links) -> set[str]:
    """The terms of a post; none for a repost, which has no words of its own."""
    if links.repost_of is not None:
        return set()
    found = {from_user(uid)}
    for word in words(body):
        found |= written_terms(word)
    if links.reply_to is not None:
        found.add(IS_REPLY)
    if links.reply_to_user is not None:
        found.add(to_user(links.reply_to_user))
    if may_have_links(body):
        for segment in segments(body):
            if segment.tag:
                found.add(tag(folded(segment.tag)))
            elif segment.address:
                found.add(HAS_LINK)
    return found
