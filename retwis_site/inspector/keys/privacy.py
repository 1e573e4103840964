"""What of a key the key browser shows to whom. `redaction.py` hides what is secret; this hides what is private.

Open is what everyone reads on the pages of the site, or what says nothing of a person. Own is what a user keeps
private: it is shown to that user alone. Of all else only the size is shown, so a new key or field is hidden until
somebody has thought about it.
"""

from retwis_site.store import keys
from retwis_site.store.key_kinds import kind_of, number
from retwis_site.telemetry.redaction import HIDDEN, shown_job
from retwis_site.telemetry.redaction import shown_field as without_secret
from retwis_site.telemetry.redaction import shown_key as key_without_secret

LONGEST = 200  # characters of one value

OPEN = frozenset(
    {
        *("next_user_id", "next_post_id", "users", "users_by_time", "users_by_name", "users_by_followers", "skeletons"),
        *("user:*", "following:*", "followers:*", "post:*", "posts:*", "updates:*", "edits:*"),
        *("timeline", "timeline:[0-9]*", "recent", "recent:[0-9]*"),
        *("liked_by:*", "reposts:*", "reposted_by:*", "thread:*", "replies_to:*", "quotes_of:*"),
        *("tag:*", "tags", "tags_by_name", "posting_ranges", "search_index", "site"),
        *("outbox", "outbox:[0-9]*", "attempts", "set_aside", "lease:*", "health", "worker_seen"),
        "schema",
    }
)
OWN = frozenset(
    {
        *("likes:*", "bookmarks:*", "blocked:*", "muted:*", "muted_reposts:*", "muted_threads:*", "muted_words:*"),
        *("tags_of:*", "notices:*"),
    }
)
# Of these hashes only some fields are open, and some the user's own.
OPEN_FIELDS = {
    "user:*": frozenset({"username", "name", "bio", "pinned", "deleted"}),
    "site": frozenset({"name", "tagline", "colour", "about", "rules", "privacy", "contact", "announcement"})
    | {"registration"},
}
OWN_FIELDS = {"user:*": frozenset({"seen", "noticed", "quiet", "language", "dismissed"})}
_OF_JOBS = frozenset({"outbox", "outbox:[0-9]*", "attempts", "set_aside"})


def may_read(key: str, viewer: int | None) -> bool:
    """Whether the members, fields or text of this key may be shown to the user with the uid `viewer`, all or some."""
    kind = kind_of(key)
    return kind in OPEN or (kind in OWN and viewer is not None and number(key) == viewer)


def may_read_field(key: str, field: str, viewer: int | None) -> bool:
    """Whether the value of this field of a hash that `may_read` allows may be shown to the user `viewer`."""
    kind = kind_of(key) or ""
    if kind not in OPEN_FIELDS or field in OPEN_FIELDS[kind]:
        return True
    return viewer is not None and number(key) == viewer and field in OWN_FIELDS.get(kind, ())


def shown_key(key: str) -> str:
    """The key, without the secret or the address in its name: `reset:…`."""
    kind, colon, _ = key.removeprefix(keys.PREFIX).partition(":")
    return f"{keys.PREFIX}{kind}:{HIDDEN}" if colon and kind in {"throttle", "damaged"} else key_without_secret(key)


def shown_member(kind: str, member: str) -> str:
    """A member of a sorted set, an entry of a list, or a string, of a key of this kind that `may_read` allows."""
    return cut(shown_job(member) if kind in _OF_JOBS else member)


def shown_field(kind: str, field: str) -> str:
    """The name of a field of a hash of this kind that `may_read` allows."""
    if kind in _OF_JOBS:
        return cut(shown_job(field))
    return cut(without_secret(kind, field) if kind in OPEN_FIELDS else field)


def cut(text: str) -> str:
    """The text, at most LONGEST characters of it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
