"""What the members, fields and scores of each kind of key are: ids of people and posts, which pages link, and times."""

from collections.abc import Mapping
from enum import Enum, auto

from retwis_site.store.key_kinds import SCORED_BY_ID, TIMED


class What(Enum):
    TEXT = auto()
    USER = auto()  # a uid, or several with spaces between
    POST = auto()  # a pid, or several
    TIME = auto()  # unix seconds


_PEOPLE = ("users_by_followers", "following:*", "followers:*", "liked_by:*", "reposted_by:*", "blocked:*", "muted:*")
_POSTS = (
    *("posts:*", "timeline", "timeline:[0-9]*", "recent", "recent:[0-9]*", "updates:*", "likes:*", "reposts:*"),
    *("bookmarks:*", "muted_threads:*", "thread:*", "replies_to:*", "quotes_of:*", "tag:*"),
)
# Of sorted sets and lists, by the pattern of the key: what their members are.
MEMBERS: Mapping[str, What] = {
    **dict.fromkeys(_PEOPLE, What.USER),
    **dict.fromkeys(_POSTS, What.POST),
    "muted_reposts:*": What.USER,
    "edits:*": What.TIME,
}
# What the scores of sorted sets, and the values of hashes and strings, are.
VALUES: Mapping[str, What] = {
    **dict.fromkeys(TIMED, What.TIME),
    **{pattern: MEMBERS[pattern] for pattern in SCORED_BY_ID if pattern in MEMBERS},
    **dict.fromkeys(("users", "skeletons", "next_user_id"), What.USER),
    **dict.fromkeys(("reposts:*", "reposted_by:*", "next_post_id"), What.POST),
    **dict.fromkeys(("muted:*", "muted_reposts:*", "muted_words:*"), What.TIME),
}
# Of hashes whose fields differ: what their values are.
FIELDS: Mapping[str, Mapping[str, What]] = {
    "user:*": {"pinned": What.POST, "seen": What.POST, "deleted": What.TIME, "noticed": What.TIME},
    "post:*": {
        **dict.fromkeys(("user_id", "reply_to_user", "mentions"), What.USER),
        **dict.fromkeys(("reply_to", "root", "above", "quote", "repost_of"), What.POST),
        **dict.fromkeys(("time", "edited", "deleted"), What.TIME),
    },
}
