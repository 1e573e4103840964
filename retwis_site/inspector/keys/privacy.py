"""What of a key the key browser shows to whom, as `shown` in the key table says. `redaction.py` hides what is secret;
this hides what is private. Of all else only the size is shown.
"""

from retwis_site.store.keys import damaged, throttle
from retwis_site.store.kinds import EVERYONE, OWNER, Kind, id_in, kind_of, unprefixed
from retwis_site.telemetry.redaction import HIDDEN, shown_job
from retwis_site.telemetry.redaction import shown_field as without_secret
from retwis_site.telemetry.redaction import shown_key as key_without_secret

LONGEST = 200  # characters of one value


def may_read(key: str, viewer: int | None) -> bool:
    """Whether the members, fields or text of this key may be shown to the user with the uid `viewer`, all or some."""
    kind = kind_of(key)
    return kind is not None and (kind.shown is EVERYONE or (kind.shown >= OWNER and _is_own(kind, key, viewer)))


def may_read_field(key: str, field: str, viewer: int | None) -> bool:
    """Whether the value of this field of a hash that `may_read` allows may be shown to the user `viewer`."""
    kind = kind_of(key)
    return kind is not None and kind.shows_field(field, OWNER if _is_own(kind, key, viewer) else EVERYONE)


def _is_own(kind: Kind, key: str, viewer: int | None) -> bool:
    return kind.of_users and viewer is not None and id_in(key) == viewer


def shown_key(key: str) -> str:
    """The key, without the secret or the address in its name: `reset:…`."""
    word, colon, rest = unprefixed(key).partition(":")
    is_hidden = colon and word in {throttle.word, damaged.word}
    return f"{key.removesuffix(rest)}{HIDDEN}" if is_hidden else key_without_secret(key)


def shown_member(kind: Kind, member: str) -> str:
    """A member of a sorted set, an entry of a list, or a string, of a key of this kind that `may_read` allows."""
    return cut(shown_job(member) if kind.named.of_job else member)


def shown_field(kind: Kind, field: str) -> str:
    """The name of a field of a hash of this kind that `may_read` allows."""
    return shown_member(kind, without_secret(kind, field) if kind.fields else field)


def cut(text: str) -> str:
    """The text, at most LONGEST characters of it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
