"""The line about the site's own words in the file of a whole site."""

from collections.abc import Iterator, Mapping, Sequence

from retwis_site.features import Line, LineField, SiteLines
from retwis_site.identity.site import FIELDS, forget
from retwis_site.maintenance.line_fields import TEXT
from retwis_site.store import keys
from retwis_site.store.client import Store


def _fields(line: Line) -> Mapping[str, LineField]:
    return dict.fromkeys(FIELDS, TEXT)


def _read(store: Store) -> Iterator[list[Line]]:
    """One line; none for a site with the defaults alone. One round trip."""
    stored = store.hgetall(keys.site())
    if any(stored.get(field) for field in FIELDS):
        yield [{"type": "site_words", **{field: stored.get(field, "") for field in FIELDS}}]


def _write(store: Store, lines: Sequence[Line]) -> None:
    for line in lines:
        texts = {field: line[field] for field in FIELDS if line[field]}
        if texts:
            store.hset(keys.site(), texts)
    forget()


SITE = SiteLines(type="site_words", fields=_fields, read=_read, write=_write)
