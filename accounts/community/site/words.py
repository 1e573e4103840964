"""Changes of the site's own words, each with its line in the log of staff."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from accounts.community.log import OPERATOR, Act, Log
from retwis_site import identity
from retwis_site.exceptions import LeaseEnded
from retwis_site.features import Line, SiteLines
from retwis_site.identity import FIELDS, forget
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.maintenance.lines import TEXT
from retwis_site.store import keys
from retwis_site.store.chunks import Writes
from retwis_site.store.client import Store


class SiteWords:
    """The site's own words, for those who may change them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def change(self, fields: Mapping[str, str], by: int = OPERATOR) -> None:
        """Set these fields; an empty text removes one. The log names those whose meaning changes; the others are not
        written. Six round trips; one when nothing changes. Of two changes at once, the later one stands, field by
        field.

        The commit is one HSET, which also has the line for the log. An emptied field stays and counts as absent: to
        remove it would remove what another change has written meanwhile.
        """
        stored = self._store.hgetall(keys.site())
        before, after = identity.read(stored), identity.read({**stored, **fields})
        fields = {name: text for name, text in fields.items() if getattr(before, name) != getattr(after, name)}
        if not fields:
            return
        act = Act(what=f"site:{','.join(sorted(fields))}", by=by)
        job = Outbox(self._store).add(f"site:{act.id}")
        job.store.hset(keys.site(), {**fields, **act.evidence()})
        identity.forget()
        with suppress(LeaseEnded):
            Log(job.store).copy(keys.site(), act.id)
            job.done()


def finish_site(store: Store, claim: Claim) -> None:
    """The job `site:<id of the act>`: the line of a change comes into the log. Four round trips."""
    Log(store).copy(keys.site(), claim.name.split(":")[1])
    claim.outbox.done(claim.name)


# ---- The line about the site's own words in the file of a whole site.


def _read(store: Store) -> Iterator[Line]:
    """One line; none for a site with the defaults alone. One round trip."""
    stored = store.hgetall(keys.site())
    if any(stored.get(field) for field in FIELDS):
        yield {field: stored.get(field, "") for field in FIELDS}


def _write(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.site(), {field: line[field] for field in FIELDS if line[field]})


SITE = SiteLines("site_words", lambda line: dict.fromkeys(FIELDS, TEXT), _read, _write, finish=lambda store: forget())
