"""All that `doctor` and `cleanup` look for, and how a check is gone through."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from accounts.users.checks.account_checks import AccountDamage
from accounts.users.checks.account_orphans import AccountDebris
from accounts.users.checks.deleted_accounts import Leftovers
from accounts.users.checks.name_index_checks import Misfiled
from retwis_site.exceptions import StoreRefused
from retwis_site.jobs.outbox_checks import Overdue
from retwis_site.maintenance.checks import AT_ONCE, Check, Finding
from retwis_site.maintenance.key_checks import Damage
from retwis_site.store.client import Store
from timeline.posts.checks.post_checks import TimelineDamage
from timeline.posts.checks.post_orphans import TimelineDebris
from timeline.relations.checks.ranking_checks import Miscounts
from timeline.timelines.checks.timeline_checks import Holes

EXAMPLES = 20  # findings of each check that are told in full; the others are only counted


def errors(store: Store) -> list[Check]:
    """Damage to truth or its mirrors, in an order in which each repair can rely on those before it."""
    sources = (Damage, Overdue, AccountDamage, Misfiled, TimelineDamage, Leftovers, Miscounts, Holes)
    return [*(check for source in sources for check in source(store).checks()), *Damage(store).later_checks()]


def debris(store: Store) -> list[Check]:
    """What is harmless, and `cleanup` removes."""
    return [*AccountDebris(store).checks(), *Misfiled(store).debris(), *TimelineDebris(store).checks()]


@dataclass
class Examination:
    """What a check has found so far. Its length is about how many chunks it goes through: iterate to go on."""

    check: Check
    repairs: bool  # whether what is found is put right at once
    found: int = 0
    repaired: int = 0
    examples: list[str] = field(default_factory=list)
    refused: str = ""  # what the store said when the check, or a repair, could not go on

    def __len__(self) -> int:
        try:
            return self.check.size() // AT_ONCE + 1
        except StoreRefused:  # as the search itself is about to be
            return 1

    def __iter__(self) -> Iterator[None]:
        try:
            for chunk in self.check.search():
                for finding in chunk:
                    self._note(finding)
                yield
        except StoreRefused as error:  # such as a key of the wrong type, which is an error of its own
            self.refused = str(error)

    def _note(self, finding: Finding) -> None:
        self.found += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(finding.what)
        if self.repairs:
            finding.repair()
            self.repaired += 1

    @property
    def left(self) -> int:
        """How many findings stand as they were, and one for a check that could not go on."""
        return self.found - self.repaired + bool(self.refused)
