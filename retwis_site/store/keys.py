"""Every Redis key, one function each; docs/keys.md shows the same table.

`<uid>`, `<pid>`: decimal integers, counted from 1 with INCR; with `POST_IDS=snowflake` made from the time, below 2^53.

| key | type | holds | kind |
|---|---|---|---|
| `next_user_id`, `next_post_id` | string | counters | official, truth |
| `users` | hash | lower-cased username -> uid | official, truth |
| `user:<uid>` | hash | `username` (as typed), `password` (Django hash), or `old_password` until the first login (the hash of another Retwis), `auth` (the secret of the account); ours: `session:<secret>` for each session (`<since (unix s)>:<generation>:<browser>:<system>`), `used:<secret>` (the hour of its last use, unix s), `generation` (sessions of another one have ended), `recovery:<hash>` for each recovery code (when it was made, unix s), `name` (display name), `bio`, `language` (a code, such as `de`), `seen` (the highest post id that home has shown), `noticed` (notices are read up to here, unix s), `quiet` (kinds of notices that are turned off, with spaces between), `invited_by` (uid; 0: the operator), `approved` (the id of the act that let them join), `dismissed` (which announcement was dismissed last), `pinned` (the post that stands first on the profile), `deleted` (unix s; nothing of a deleted account is shown); `role` (`moderator` or `admin`, as `staff` has it); `state` (`frozen`, `hidden` or `suspended`), `state_until` (unix s, 0: until it is lifted), `state_reason`, `state_since` (unix s), `state_act` (the id of the act): what staff has imposed; `appeal` (the last one: JSON with the act, the text and when), `answer:<id of the act>` (the decision about it, a line of the log), `act:<id>` (a line of the log until it is there) | official, truth |
| `auths` | hash | secret of an account or a session -> uid; may hold stale entries, never trusted alone | official |
| `users_by_time` | zset | username as typed, score = registration (unix s) | official |
| `users_by_name` | zset | `<folded ending>:<uid>`, score 0: the rest of a username or display name from each of its words on, by whose beginning a user is found; may hold stale entries, never trusted alone | |
| `users_by_followers` | zset | uids, score = number of followers, set from ZCARD `followers:`; no user without followers | |
| `following:<uid>` | zset | uids this user follows, score = since when (unix s) | official, truth |
| `followers:<uid>` | zset | the mirror of `following:` | official |
| `post:<pid>` | hash | `user_id`, `time` (unix s), `body`; of a reply `reply_to` (the post answered), `root` (the first post of the thread), `reply_to_user` (the author answered), `above` (the nearest posts above it, nearest first); `quote` (the quoted post); `repost_of` (this id is a repost and has no body); `mentions` (uids); `edited` (unix s of the last change); `likes`, `reposts`, `replies`, `quotes`: counts, set from ZCARD of the mirrors; a deleted post: `deleted` (unix s; `:staff` stands behind it when staff has deleted the post), empty body, 30 days, or longer while it has replies | official, truth |
| `posts:<uid>` | list | home timeline: own and followed users' posts, about the newest 1000 | official, cache |
| `timeline` | list | everyone's newest posts, about 1000 | official, cache |
| `timeline:<n>` | list | with `TIMELINE_SHARDS` above 1, instead of `timeline`: the posts whose id modulo TIMELINE_SHARDS is `<n>` | cache |
| `recent`, `recent:<n>` | zset | with `POST_IDS=snowflake`: the newest 2000 post ids, member = score = pid; `timeline` is rebuilt from it | truth |
| `updates:<uid>` | zset | the user's own post ids, member = score = pid; never trimmed | truth |
| `likes:<uid>` | zset | pids of the posts that this user likes, score = since when (unix s) | truth |
| `liked_by:<pid>` | zset | the mirror of `likes:` | |
| `reposts:<uid>` | zset | pids of the posts that this user has reposted, score = the id of the repost, a post of its own | truth |
| `reposted_by:<pid>` | zset | the mirror of `reposts:`: uids, score = the id of the repost | |
| `bookmarks:<uid>` | zset | pids, score = since when (unix s) | truth |
| `blocked:<uid>` | zset | uids that this user blocks, score = since when (unix s) | truth |
| `blocked_by:<uid>` | zset | the mirror of `blocked:` | |
| `muted:<uid>` | zset | uids that this user mutes, score = until when (unix s, or +inf) | truth |
| `muted_reposts:<uid>` | zset | uids whose reposts this user hides, score = until when (unix s, or +inf) | truth |
| `muted_threads:<uid>` | zset | the first posts of threads that make no notices for this user, score = since when (unix s) | truth |
| `muted_words:<uid>` | zset | words that this user mutes: `<where> <how> <words>` (`home` or `everywhere`; `hide` or `fold`), score = until when (unix s, or +inf) | truth |
| `tags_of:<uid>` | zset | folded tags that this user follows, score = since when (unix s) | truth |
| `thread:<pid>` | zset | every post below the first post of a thread, member = score = pid | |
| `replies_to:<pid>` | zset | the replies to this post itself, member = score = pid | |
| `quotes_of:<pid>` | zset | the posts that quote this post, member = score = pid | |
| `edits:<pid>` | hash | the texts of an edited post, the first one included: since when each stands (unix s) -> the text; `body` is the newest | truth |
| `tag:<folded>` | zset | the posts with this hashtag, member = score = pid | |
| `tags` | hash | folded tag -> its spelling when it was first used | truth |
| `tags_by_name` | zset | folded tags with their marks apart (NFD), score 0: by which the beginning of a tag is found | |
| `postings:<first>:<bucket>` | string | the search index for the posts of one range of ids: for each term of a post 4 bytes, with an id from the time 8, the lowest first: the id minus `<first>`, and in the last two bytes a part of the term's hash. Another part of the hash says in which of 1024 buckets. May hold records of what is no longer in a post, and a record twice | |
| `posting_bits:<group>:<bucket>` | string | which of 64 ranges of ids have a term of this bucket: 512 bits for each range, in their order; a term sets one of them, which others may set, too; none is ever cleared. Ranges from the time come after 67,108,864 others | |
| `posting_ranges` | zset | where ranges of ids from the time begin, member = score = the first id. Ranges of ids from the counter begin at each multiple of 16,384 | |
| `search_index` | hash | `posts:<first>`: how many posts were written into a range of ids from the time, about; `reindexed`: the first id of the range that `reindex` has written last; while that is unfinished, `late:<pid>`: a post that came meanwhile, which `reindex` writes at its end | |
| `notices:<uid>` | zset | what others did that concerns this user: `<kind>:<what>:<who>`, score = when (unix s), the newest 1000 (`report:<rid>:<uid>`: what was decided about a report); the member `up_to_here` has `noticed` as its score, so that one round trip counts the new ones | truth |
| `staff` | hash | uid -> `moderator` or `admin`, or `member` for a role that was taken away; `changing:<id>` -> the uid whose role is being changed; `act:<id>` -> a line of the log until it is there | truth |
| `log:<year>` | zset | what staff did, a line of JSON each, score = when (unix ms) | truth |
| `acts:<uid>` | zset | the lines of the log about this user | truth |
| `appeals` | zset | open appeals: `<uid>:<id of the act>`, score = since when (unix s) | |
| `applications` | hash | lower-cased name -> somebody who asks to join, as JSON: `username`, `password` (Django hash), `why`, `at`, `refused` (unix s), `reason`; `answer:<name>:<at>` -> staff's answer, a line of the log, until it is carried out | truth |
| `invites:<uid>` | hash | the invitations by this user, by the operator with 0: code `<uid>-<end>-<random>` (the end in unix s) -> how many people it lets in | truth |
| `uses:<digest>` | zset | the uids that an invitation has let in, by the hash of its code, score = when (unix s), EX a day after its end | truth |
| `blocked_names` | hash | a word that no new account may have as its name, `*` for any letters -> since when (unix s) | truth |
| `skeletons` | hash | what a username looks like (UTS #39) -> the first uid whose name does | |
| `site` | hash | the site's own words: `name`, `tagline`, `colour`, `about`, `rules` (a line each), `privacy`, `contact`, `announcement`, `registration` (`open`, `approval`, `invite` or `closed`), `invites` (open invitations that a member may have); an absent or empty field has its default; `act:<id>` -> a line of the log until it is there | truth |
| `report:<rid>` | hash | what a user has told staff: `who`, `whom` (uids), `pid` (of a reported post), `reason` (`spam`, `harassment`, `illegal`, `other`, `rule:<number>`), `rule` (its text), `note`, `body` (the text of the post as it was), `decision` (a line of the log) | truth |
| `reports` | zset | the open reports, member = score = `<rid>`: when it was made, in unix µs | |
| `reports_about:<uid>` | zset | all reports about this user and their posts, member = score = `<rid>` | |
| `reports_by:<uid>` | zset | this user's reports, score = `<rid>`: `<whom>:<pid>` (pid 0: the person) while it is open, `<whom>:<pid>:<rid>` when it is decided | |
| `outbox` | zset | unfinished jobs, score = when a worker may take the job over (unix s) | truth |
| `outbox:<n>` | zset | with `OUTBOX_SHARDS` above 1, instead of `outbox`: the jobs about some of the ids | truth |
| `attempts` | hash | job -> number of times that a worker has claimed it; 1 again after a worker released it | |
| `set_aside` | zset | dead letters: jobs that no worker could finish, score = since when (unix s); `deliver` leaves them alone | truth |
| `lease:<job>` | string | the worker that has the job, EX | |
| `idem:<uid>:<token>` | string | the pid that a form's one-time token became, EX one day | |
| `reset:<digest>` | string | a link for a new password, by the hash of its token: `<uid>:<generation>:<role>`, EX one day | |
| `throttle:<limit>:<who>` | zset | a rate limit: one member for each counted action, score = when (unix s), EX the limit's window | |
| `damaged:<key>` | any | a key of the wrong type, or a list or string with a bad value, which `doctor --fix` has moved here, EX 30 days | |
| `damaged:<key>:again:<number>` | any | such a key while `damaged:<key>` is there already, numbered from 2, EX 30 days | |
| `damaged:<key>:values` | hash | bad members with their scores, or bad fields, which `doctor --fix` has removed from the key, EX 30 days; the first of each name | |
| `health` | string | written by `/readyz`, EX | |
| `worker_seen` | string | when a worker last ran, unix s | |
| `inspected:<what>` | string | with INSPECT=1: what a form (a random token) or a job (the hash of its name) has sent, as JSON without secrets, EX one minute | |
| `schema` | string | the version of this table that the store follows, now 1; `adopting` while `adopt` is under way | truth |

Each key begins with `REDIS_KEY_PREFIX`. Official: as in the Retwis of Redis's documentation. Truth: all other keys can
be rebuilt from these. Cache: a list that may disappear at any moment; the next read rebuilds it.
"""

from collections.abc import Callable
from zlib import crc32

from django.conf import settings

PREFIX: str = settings.REDIS_KEY_PREFIX


def _one(key_name: str) -> Callable[[], str]:
    def key() -> str:
        return f"{PREFIX}{key_name}"

    return key


def _of_user(kind: str) -> Callable[[int], str]:
    def key(uid: int) -> str:
        return f"{PREFIX}{kind}:{uid}"

    return key


def _of_post(kind: str) -> Callable[[int], str]:
    def key(pid: int) -> str:
        return f"{PREFIX}{kind}:{pid}"

    return key


next_user_id = _one("next_user_id")
next_post_id = _one("next_post_id")
users = _one("users")
user = _of_user("user")
auths = _one("auths")
users_by_time = _one("users_by_time")
users_by_name = _one("users_by_name")
users_by_followers = _one("users_by_followers")
following = _of_user("following")
followers = _of_user("followers")
post = _of_post("post")
home = _of_user("posts")


def timeline(pid: int) -> str:
    """The list for this post; one of TIMELINE_SHARDS."""
    return _shard("timeline", pid, settings.TIMELINE_SHARDS)


def recent(pid: int) -> str:
    """The sorted set for this post; one of TIMELINE_SHARDS."""
    return _shard("recent", pid, settings.TIMELINE_SHARDS)


updates = _of_user("updates")
likes = _of_user("likes")
liked_by = _of_post("liked_by")
reposts = _of_user("reposts")
reposted_by = _of_post("reposted_by")
bookmarks = _of_user("bookmarks")
blocked = _of_user("blocked")
blocked_by = _of_user("blocked_by")
muted = _of_user("muted")
muted_reposts = _of_user("muted_reposts")
muted_threads = _of_user("muted_threads")
muted_words = _of_user("muted_words")
tags_of = _of_user("tags_of")
thread = _of_post("thread")
replies_to = _of_post("replies_to")
quotes_of = _of_post("quotes_of")
edits = _of_post("edits")


def tag(folded: str) -> str:
    return f"{PREFIX}tag:{folded}"


tags = _one("tags")
tags_by_name = _one("tags_by_name")


def postings(first: int, bucket: int) -> str:
    return f"{PREFIX}postings:{first}:{bucket}"


def posting_bits(group: int, bucket: int) -> str:
    return f"{PREFIX}posting_bits:{group}:{bucket}"


posting_ranges = _one("posting_ranges")
search_index = _one("search_index")
notices = _of_user("notices")
staff = _one("staff")


def log(year: int) -> str:
    return f"{PREFIX}log:{year}"


acts = _of_user("acts")
appeals = _one("appeals")


def report(rid: int) -> str:
    return f"{PREFIX}report:{rid}"


reports = _one("reports")
reports_about = _of_user("reports_about")
reports_by = _of_user("reports_by")


def outbox(job: str) -> str:
    """The sorted set for all jobs about the same id; one of OUTBOX_SHARDS."""
    about = job.partition(":")[2].partition(":")[0]
    return _shard("outbox", crc32(about.encode()), settings.OUTBOX_SHARDS)


attempts = _one("attempts")
dead_letters = _one("set_aside")


def lease(job: str) -> str:
    return f"{PREFIX}lease:{job}"


def idem(uid: int, token: str) -> str:
    return f"{PREFIX}idem:{uid}:{token}"


def reset(digest: str) -> str:
    return f"{PREFIX}reset:{digest}"


def throttle(limit: str, who: str) -> str:
    return f"{PREFIX}throttle:{limit}:{who}"


def damaged(key: str) -> str:
    return f"{PREFIX}damaged:{key.removeprefix(PREFIX)}"


def damaged_again(key: str, number: int) -> str:
    return f"{damaged(key)}:again:{number}"


def damaged_values(key: str) -> str:
    return f"{damaged(key)}:values"


HEALTH_SECONDS = 60  # until it expires


health = _one("health")
worker_seen = _one("worker_seen")
applications = _one("applications")


def invites(uid: int) -> str:
    return f"{PREFIX}invites:{uid}"


def uses(digest: str) -> str:
    return f"{PREFIX}uses:{digest}"


blocked_names = _one("blocked_names")
skeletons = _one("skeletons")
site = _one("site")
INSPECTED_SECONDS = 60  # until it expires


def inspected(what: str) -> str:
    return f"{PREFIX}inspected:{what}"


schema = _one("schema")


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
