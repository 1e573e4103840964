"""The lines about recovery codes in the file of a whole site. Links are not in it: they end within a day."""

import re
from collections.abc import Iterator, Mapping, Sequence

from accounts.recovery.codes import FIELD, codes_in
from accounts.users.site_lines import uids_in_order
from retwis_site.features import Line, LineField, SiteLines
from retwis_site.maintenance.filling import ID, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_time

_is_hash = re.compile("[0-9a-f]{32}").fullmatch

FIELDS = {
    "user": ID,
    "hash": LineField("32 hex digits", lambda value: isinstance(value, str) and bool(_is_hash(value))),
    "made": TIME,
}


def read_codes(store: Store) -> Iterator[list[Line]]:
    """A line for each code that is left, by user. One round trip a chunk."""
    for uids in uids_in_order(store):
        pipe = store.pipeline()
        asked = {uid: pipe.hgetall(keys.user(uid)) for uid in uids}
        pipe.execute()
        yield [
            {
                "type": "recovery_code",
                "user": uid,
                "hash": name.removeprefix(FIELD),
                "made": iso(stored_time(keys.user(uid), fields.value[name])),
            }
            for uid, fields in asked.items()
            if "deleted" not in fields.value
            for name in sorted(codes_in(fields.value))
        ]


def write_codes(store: Store, lines: Sequence[Line]) -> None:
    """One round trip."""
    pipe = store.pipeline()
    for line in lines:
        pipe.hset(keys.user(line["user"]), {f"{FIELD}{line['hash']}": str(seconds(line, "made"))})
    pipe.execute()


def _fields(line: Line) -> Mapping[str, LineField]:
    return FIELDS


RECOVERY_CODES = SiteLines(type="recovery_code", fields=_fields, read=read_codes, write=write_codes, users=("user",))
