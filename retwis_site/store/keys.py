"""Every Redis key, one function each; docs/keys.md shows the same table.

`<uid>`, `<pid>`: decimal integers, counted from 1 with INCR; with `POST_IDS=snowflake` made from the time, below 2^53.

| key | type | holds | kind |
|---|---|---|---|
| `next_user_id`, `next_post_id` | string | counters | official, truth |
| `users` | hash | lower-cased username -> uid | official, truth |
| `user:<uid>` | hash | `username` (as typed), `password` (Django hash), or `old_password` until the first login (the hash of another Retwis), `auth` (the secret of the session); ours: `name` (display name), `bio`, `language` (a code, such as `de`), `seen` (the highest post id that home has shown), `deleted` (unix s; nothing of a deleted account is shown) | official, truth |
| `auths` | hash | secret -> uid; may hold stale entries, never trusted alone | official |
| `users_by_time` | zset | username as typed, score = registration (unix s) | official |
| `users_by_name` | zset | `<folded name>:<uid>`, score 0: by which a prefix of a username or display name is found; may hold stale entries, never trusted alone | |
| `users_by_followers` | zset | uids, score = number of followers, set from ZCARD `followers:`; no user without followers | |
| `following:<uid>` | zset | uids this user follows, score = since when (unix s) | official, truth |
| `followers:<uid>` | zset | the mirror of `following:` | official |
| `post:<pid>` | hash | `user_id`, `time` (unix s), `body`; imported posts may have `reply_to`, `root` (pids) and `reply_to_user` (uid); `likes`: how many users like it, set from ZCARD `liked_by:`; a deleted post: `deleted` (unix s), empty body, 30 days | official, truth |
| `posts:<uid>` | list | home timeline: own and followed users' posts, about the newest 1000 | official, cache |
| `timeline` | list | everyone's newest posts, about 1000 | official, cache |
| `timeline:<n>` | list | with `TIMELINE_SHARDS` above 1, instead of `timeline`: the posts whose id modulo TIMELINE_SHARDS is `<n>` | cache |
| `recent`, `recent:<n>` | zset | with `POST_IDS=snowflake`: the newest 2000 post ids, member = score = pid; `timeline` is rebuilt from it | truth |
| `updates:<uid>` | zset | the user's own post ids, member = score = pid; never trimmed | truth |
| `likes:<uid>` | zset | pids of the posts that this user likes, score = since when (unix s) | truth |
| `liked_by:<pid>` | zset | the mirror of `likes:` | |
| `outbox` | zset | unfinished jobs, score = when a worker may take the job over (unix s) | truth |
| `outbox:<n>` | zset | with `OUTBOX_SHARDS` above 1, instead of `outbox`: the jobs about some of the ids | truth |
| `attempts` | hash | job -> number of times that a worker has claimed it; 1 again after a worker released it | |
| `set_aside` | zset | dead letters: jobs that no worker could finish, score = since when (unix s); `deliver` leaves them alone | truth |
| `lease:<job>` | string | the worker that has the job, EX | |
| `idem:<uid>:<token>` | string | the pid that a form's one-time token became, EX one day | |
| `throttle:<limit>:<who>` | zset | a rate limit: one member for each counted action, score = when (unix s), EX the limit's window | |
| `damaged:<key>` | any | a key of the wrong type, or a list or string with a bad value, which `doctor --fix` has moved here, EX 30 days | |
| `damaged:<key>:again:<number>` | any | such a key while `damaged:<key>` is there already, numbered from 2, EX 30 days | |
| `damaged:<key>:values` | hash | bad members with their scores, or bad fields, which `doctor --fix` has removed from the key, EX 30 days; the first of each name | |
| `health` | string | written by `/readyz`, EX | |
| `schema` | string | the version of this table that the store follows, now 1; `adopting` while `adopt` is under way | truth |

Each key begins with `REDIS_KEY_PREFIX`. Official: as in the Retwis of Redis's documentation. Truth: all other keys can
be rebuilt from these. Cache: a list that may disappear at any moment; the next read rebuilds it.
"""

from zlib import crc32

from django.conf import settings

from retwis_site.store.ids import parse_id

PREFIX: str = settings.REDIS_KEY_PREFIX


def next_user_id() -> str:
    return f"{PREFIX}next_user_id"


def next_post_id() -> str:
    return f"{PREFIX}next_post_id"


def users() -> str:
    return f"{PREFIX}users"


def user(uid: int) -> str:
    return f"{PREFIX}user:{uid}"


def auths() -> str:
    return f"{PREFIX}auths"


def users_by_time() -> str:
    return f"{PREFIX}users_by_time"


def users_by_name() -> str:
    return f"{PREFIX}users_by_name"


def users_by_followers() -> str:
    return f"{PREFIX}users_by_followers"


def following(uid: int) -> str:
    return f"{PREFIX}following:{uid}"


def followers(uid: int) -> str:
    return f"{PREFIX}followers:{uid}"


def post(pid: int) -> str:
    return f"{PREFIX}post:{pid}"


def home(uid: int) -> str:
    return f"{PREFIX}posts:{uid}"


def timeline(pid: int) -> str:
    """The list for this post; one of TIMELINE_SHARDS."""
    return _shard("timeline", pid, settings.TIMELINE_SHARDS)


def recent(pid: int) -> str:
    """The sorted set for this post; one of TIMELINE_SHARDS."""
    return _shard("recent", pid, settings.TIMELINE_SHARDS)


def updates(uid: int) -> str:
    return f"{PREFIX}updates:{uid}"


def likes(uid: int) -> str:
    return f"{PREFIX}likes:{uid}"


def liked_by(pid: int) -> str:
    return f"{PREFIX}liked_by:{pid}"


def outbox(job: str) -> str:
    """The sorted set for all jobs about the same id; one of OUTBOX_SHARDS."""
    about = job.partition(":")[2].partition(":")[0]
    return _shard("outbox", crc32(about.encode()), settings.OUTBOX_SHARDS)


def attempts() -> str:
    return f"{PREFIX}attempts"


def dead_letters() -> str:
    return f"{PREFIX}set_aside"


def lease(job: str) -> str:
    return f"{PREFIX}lease:{job}"


def idem(uid: int, token: str) -> str:
    return f"{PREFIX}idem:{uid}:{token}"


def throttle(limit: str, who: str) -> str:
    return f"{PREFIX}throttle:{limit}:{who}"


def damaged(key: str) -> str:
    return f"{PREFIX}damaged:{key.removeprefix(PREFIX)}"


def damaged_again(key: str, number: int) -> str:
    return f"{damaged(key)}:again:{number}"


def damaged_values(key: str) -> str:
    return f"{damaged(key)}:values"


HEALTH_SECONDS = 60  # until it expires


def health() -> str:
    return f"{PREFIX}health"


def schema() -> str:
    return f"{PREFIX}schema"


# ---- keys that may be split into several

SPLIT = {"timeline", "recent", "outbox"}


def _shard(name: str, number: int, shards: int) -> str:
    return f"{PREFIX}{name}" if shards == 1 else f"{PREFIX}{name}:{number % shards}"


def timelines() -> list[str]:
    return _shards("timeline", settings.TIMELINE_SHARDS)


def outboxes() -> list[str]:
    return _shards("outbox", settings.OUTBOX_SHARDS)


def _shards(name: str, shards: int) -> list[str]:
    return [_shard(name, number, shards) for number in range(shards)]


def whatever_shards(name: str) -> list[str]:
    """Every name that a split key has with any number of shards."""
    return [f"{PREFIX}{name}", *_shards(name, settings.MOST_SHARDS)]


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
    "outbox": "zset",
    "outbox:[0-9]*": "zset",
    "attempts": "hash",
    "set_aside": "zset",
    "lease:*": "string",
    "idem:*": "string",
    "throttle:*": "zset",
    "health": "string",
    "schema": "string",
}
ALL = (*TYPES, "damaged:*")

# SCAN pattern of each kind of key -> what its members, entries or value must be; of a hash, the values of all fields or
# of these. `entry`: an id, or a mark of a cached list. Checks of features look at the others.
VALUES: dict[str, str | dict[str, str]] = {
    "users": "id",
    "user:*": {"seen": "id", "deleted": "number"},
    "auths": "id",
    "users_by_time": "text",
    "users_by_name": "text",
    "users_by_followers": "id",
    "following:*": "id",
    "followers:*": "id",
    "post:*": {
        "user_id": "id",
        "deleted": "number",
        "reply_to": "id",
        "root": "id",
        "reply_to_user": "id",
        "likes": "number",
    },
    "posts:*": "entry",
    "timeline": "entry",
    "timeline:[0-9]*": "entry",
    "recent": "id",
    "recent:[0-9]*": "id",
    "updates:*": "id",
    "likes:*": "id",
    "liked_by:*": "id",
    "outbox": "text",
    "outbox:[0-9]*": "text",
    "attempts": "number",
    "set_aside": "text",
    "idem:*": "id",
    "schema": "version",
}
# The kinds of sorted sets whose scores are unix seconds, and those whose scores are the members.
TIMED = {"users_by_time", "following:*", "followers:*", "likes:*", "liked_by:*", "outbox", "outbox:[0-9]*", "set_aside"}
SCORED_BY_ID = {"recent", "recent:[0-9]*"}


def matching(pattern: str) -> str:
    """The SCAN pattern for one of `ALL`, with the prefix; glob characters in the prefix are escaped."""
    escaped = "".join(f"\\{char}" if char in r"*?[]^\\" else char for char in PREFIX)
    return f"{escaped}{pattern}"


def kind_of(key: str) -> str | None:
    """The pattern in `TYPES` of a key. None for a key that is not in the key table, such as `user:settings`."""
    own = key.removeprefix(PREFIX)
    kind, colon, _ = own.partition(":")
    if kind in SPLIT and colon:
        return f"{kind}:[0-9]*" if key in whatever_shards(kind) else None
    pattern = f"{kind}:*" if kind in {"lease", "idem", "throttle"} or number(key) is not None else own
    return pattern if pattern in TYPES else None


def number(key: str) -> int | None:
    """The id in a key such as `post:12`; None for other keys, such as `post:12:likes` or `user:settings`."""
    return parse_id(key.removeprefix(PREFIX).partition(":")[2])
