"""What others did that concerns a user."""

from enum import StrEnum
from typing import NamedTuple

from retwis_site.store.ids import parse_id


class Kind(StrEnum):
    """The kinds of notices."""

    FOLLOW = "follow"
    LIKE = "like"
    REPOST = "repost"
    REPLY = "reply"
    QUOTE = "quote"
    MENTION = "mention"
    REPORT = "report"  # staff has decided about a report that the user has made, or that was about them


KINDS = {kind.value: kind for kind in Kind}
CAN_BE_QUIET = tuple(kind for kind in Kind if kind is not Kind.REPORT)  # each can be turned off in the settings
ABOUT_POSTS = (Kind.LIKE, Kind.REPOST, Kind.REPLY, Kind.QUOTE, Kind.MENTION)
BY_POSTS = (Kind.REPLY, Kind.QUOTE, Kind.MENTION)  # a post makes them. A person whom it concerns twice gets the first


class Notice(NamedTuple):
    """One notice. In `notices:` it stands as `<kind>:<what>:<who>`."""

    kind: Kind
    what: int  # the liked or reposted post, the followed user; of BY_POSTS, the new post; the report
    who: int  # uid of the user who did it; of a report, of the user who is told

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
