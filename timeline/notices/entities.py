"""What others did that concerns a user."""

from enum import StrEnum
from typing import NamedTuple

from retwis_site.store.ids import parse_id


class Kind(StrEnum):
    """The kinds of notices. Each can be turned off in the settings."""

    FOLLOW = "follow"
    LIKE = "like"
    REPOST = "repost"
    REPLY = "reply"
    QUOTE = "quote"
    MENTION = "mention"


KINDS = {kind.value: kind for kind in Kind}
BY_POSTS = (Kind.REPLY, Kind.QUOTE, Kind.MENTION)  # a post makes them. A person whom it concerns twice gets the first


class Notice(NamedTuple):
    """One notice. In `notices:` it stands as `<kind>:<what>:<who>`."""

    kind: Kind
    what: int  # the liked or reposted post, the followed user; of BY_POSTS, the new post
    who: int  # uid of the user who did it

    @property
    def member(self) -> str:
        return f"{self.kind}:{self.what}:{self.who}"


def parse_notice(member: str) -> Notice | None:
    """The notice that a member stands for; None for any other text."""
    kind, _, rest = member.partition(":")
    what, _, who = rest.partition(":")
    what_id, who_id = parse_id(what), parse_id(who)
    if kind not in KINDS or what_id is None or who_id is None:
        return None
    return Notice(KINDS[kind], what_id, who_id)
