"""Lines about edges in the file of a whole site: the same for every relation."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from accounts.users.site_lines import uids_in_order
from retwis_site.features import Line, SiteLines
from retwis_site.maintenance.checks import ids_of
from retwis_site.maintenance.line_fields import ID, NAME, TIME, TIME_OR_NULL, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import key_kinds
from retwis_site.store.chunks import AT_ONCE, batches, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import note_bad, stored_id, stored_score
from timeline.relations.protocol.counts import Counts
from timeline.relations.protocol.relation import Relation, Scores


@dataclass(frozen=True)
class EdgeLines:
    """The lines of one relation, which have the name of its jobs as their type. The others are the names of their
    fields."""

    relation: Relation
    who: str
    target: str
    when: str

    def read(self, store: Store) -> Iterator[list[Line]]:
        """A line for each edge, by the id of the person, newest first. Round trips as for `newest_first_of_each`."""
        truth = self.relation.truth
        for uids in uids_in_order(store):
            rows = newest_first_of_each(store, {uid: truth(uid) for uid in uids})
            for some in batches(rows, AT_ONCE):
                yield [
                    {
                        "type": self.relation.kind,
                        self.who: uid,
                        self.target: target,
                        self.when: None if score == inf else iso(stored_score(truth(uid), member, score)),
                    }
                    for uid, member, score in some
                    if (target := self._target_of(truth(uid), member)) is not None
                ]

    def _target_of(self, key: str, member: str) -> int | str | None:
        if not self.relation.target.is_text:
            return stored_id(key, member)
        if not member:
            note_bad(key, member)
        return member or None

    def write(self, store: Store, lines: Sequence[Line]) -> None:
        """Write both sides of each edge. One round trip."""
        members: dict[str, dict[str, float]] = defaultdict(dict)  # by key
        for line in lines:
            who, target = line[self.who], line[self.target]
            score = inf if line[self.when] is None else seconds(line, self.when)
            members[self.relation.truth(who)][str(target)] = score
            if self.relation.mirror:
                members[self.relation.mirror(target)][str(who)] = score
        pipe = store.pipeline()
        for key, scores in members.items():
            pipe.zadd(key, scores)
        pipe.execute()

    def count(self, store: Store) -> None:
        """Count the edges to all targets. Four round trips for each 500 targets; none for a relation without counts."""
        if self.relation.count is None or self.relation.mirror is None:
            return
        for targets in ids_of(store, key_kinds.kind_of(self.relation.mirror(1)) or ""):
            Counts(store, self.relation.count).recount(targets)

    def lines(self) -> SiteLines:
        target = self.relation.target
        fields = {
            self.who: ID,
            self.target: NAME if target.is_text else ID,
            self.when: TIME_OR_NULL if self.relation.scores is Scores.UNTIL else TIME,
        }
        return SiteLines(
            type=self.relation.kind,
            fields=lambda line: fields,
            read=self.read,
            write=self.write,
            users=(self.who, self.target) if target.is_person else (self.who,),
            posts=(self.target,) if target.has_author else (),
            finish=self.count,
        )
