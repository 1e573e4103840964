"""The kinds of keys of the table in `keys.py`: which key is of which kind, and what a key of a kind must hold."""

from django.conf import settings

from retwis_site.store import keys
from retwis_site.store.ids import parse_id, parse_number

# SCAN pattern of each kind of key -> the type that its keys must have.
TYPES = {
    "next_user_id": "string",
    "next_post_id": "string",
    "users": "hash",
    "user:*": "hash",
    "auths": "hash",
    "users_by_time": "zset",
    "users_by_name": "zset",
    "users_by_followers": "zset",
    "following:*": "zset",
    "followers:*": "zset",
    "post:*": "hash",
    "posts:*": "list",
    "timeline": "list",
    "timeline:[0-9]*": "list",
    "recent": "zset",
    "recent:[0-9]*": "zset",
    "updates:*": "zset",
    "likes:*": "zset",
    "liked_by:*": "zset",
    "reposts:*": "zset",
    "reposted_by:*": "zset",
    "bookmarks:*": "zset",
    "blocked:*": "zset",
    "blocked_by:*": "zset",
    "muted:*": "zset",
    "muted_reposts:*": "zset",
    "muted_threads:*": "zset",
    "muted_words:*": "zset",
    "tags_of:*": "zset",
    "thread:*": "zset",
    "replies_to:*": "zset",
    "quotes_of:*": "zset",
    "edits:*": "hash",
    "tag:*": "zset",
    "tags": "hash",
    "tags_by_name": "zset",
    "postings:*": "string",
    "posting_bits:*": "string",
    "posting_ranges": "zset",
    "search_index": "hash",
    "notices:*": "zset",
    "staff": "hash",
    "log:*": "zset",
    "acts:*": "zset",
    "appeals": "zset",
    "applications": "hash",
    "invites:*": "hash",
    "uses:*": "zset",
    "blocked_names": "hash",
    "skeletons": "hash",
    "site": "hash",
    "report:*": "hash",
    "reports": "zset",
    "reports_about:*": "zset",
    "reports_by:*": "zset",
    "outbox": "zset",
    "outbox:[0-9]*": "zset",
    "attempts": "hash",
    "set_aside": "zset",
    "lease:*": "string",
    "idem:*": "string",
    "reset:*": "string",
    "throttle:*": "zset",
    "health": "string",
    "worker_seen": "string",
    "inspected:*": "string",
    "schema": "string",
    **settings.KEY_KINDS,
}
ALL = (*TYPES, "damaged:*")

# SCAN pattern of each kind of key -> what its members, entries or value must be; of a hash, the values of all fields or
# of these. `entry`: an id, or a mark of a cached list. `deletion`: a number, or one with `:staff` behind it. Checks of
# features look at the others.
VALUES: dict[str, str | dict[str, str]] = {
    "users": "id",
    "user:*": {
        **dict.fromkeys(("seen", "pinned"), "id"),
        **dict.fromkeys(("noticed", "deleted", "state_until", "invited_by"), "number"),
    },
    "auths": "id",
    "users_by_time": "text",
    "users_by_name": "text",
    "users_by_followers": "id",
    "following:*": "id",
    "followers:*": "id",
    "post:*": {
        "user_id": "id",
        "deleted": "deletion",
        "reply_to": "id",
        "root": "id",
        "reply_to_user": "id",
        "quote": "id",
        "repost_of": "id",
        "edited": "number",
        **dict.fromkeys(("likes", "reposts", "replies", "quotes"), "number"),
    },
    "posts:*": "entry",
    "timeline": "entry",
    "timeline:[0-9]*": "entry",
    "recent": "id",
    "recent:[0-9]*": "id",
    "updates:*": "id",
    "likes:*": "id",
    "liked_by:*": "id",
    "reposts:*": "id",
    "reposted_by:*": "id",
    "bookmarks:*": "id",
    "blocked:*": "id",
    "blocked_by:*": "id",
    "muted:*": "id",
    "muted_reposts:*": "id",
    "muted_threads:*": "id",
    "muted_words:*": "text",
    "tags_of:*": "text",
    "thread:*": "id",
    "replies_to:*": "id",
    "quotes_of:*": "id",
    "edits:*": "text",
    "tag:*": "id",
    "tags": "text",
    "tags_by_name": "text",
    "posting_ranges": "id",
    "search_index": "number",
    "notices:*": "text",
    "staff": "text",
    "log:*": "text",
    "acts:*": "text",
    "appeals": "text",
    "invites:*": "number",
    "uses:*": "id",
    "report:*": {"who": "id", "whom": "id", "pid": "id"},
    "reports": "id",
    "reports_about:*": "id",
    "reports_by:*": "text",
    "outbox": "text",
    "outbox:[0-9]*": "text",
    "attempts": "number",
    "set_aside": "text",
    "idem:*": "id",
    "worker_seen": "number",
    "schema": "version",
}
# The kinds of sorted sets whose scores are unix seconds, and those whose scores are the members.
TIMED = {
    *("users_by_time", "following:*", "followers:*", "likes:*", "liked_by:*", "bookmarks:*"),
    *(
        "blocked:*",
        "blocked_by:*",
        "muted_threads:*",
        "tags_of:*",
        "notices:*",
        "appeals",
        "uses:*",
        "outbox",
        "outbox:[0-9]*",
        "set_aside",
    ),
}
SCORED_BY_ID = {
    *("recent", "recent:[0-9]*", "thread:*", "replies_to:*", "quotes_of:*", "tag:*", "posting_ranges"),
    *("reports", "reports_about:*"),
}


def matching(pattern: str) -> str:
    """The SCAN pattern for one of `ALL`, with the prefix; glob characters in the prefix are escaped."""
    escaped = "".join(f"\\{char}" if char in r"*?[]^\\" else char for char in keys.PREFIX)
    return f"{escaped}{pattern}"


# Kinds of keys whose names end with any text.
_NAMED = {"lease", "idem", "reset", "throttle", "tag", "uses", "inspected"}


def kind_of(key: str) -> str | None:
    """The pattern in `TYPES` of a key. None for a key that is not in the key table, such as `user:settings`."""
    own = key.removeprefix(keys.PREFIX)
    kind, colon, _ = own.partition(":")
    if kind in keys.SPLIT and colon:
        return f"{kind}:[0-9]*" if key in keys.whatever_shards(kind) else None
    if kind in {"postings", "posting_bits"}:
        return f"{kind}:*" if _has_two_numbers(own) else None
    is_named = kind in _NAMED or own == "invites:0"  # of the operator
    pattern = f"{kind}:*" if is_named or number(key) is not None else own
    return pattern if pattern in TYPES else None


def number(key: str) -> int | None:
    """The id in a key such as `post:12`; None for other keys, such as `post:12:likes` or `user:settings`."""
    return parse_id(key.removeprefix(keys.PREFIX).partition(":")[2])


def _has_two_numbers(own: str) -> bool:
    numbers = own.split(":")[1:]
    return len(numbers) == 2 and all(parse_number(text) is not None for text in numbers)
