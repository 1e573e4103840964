"""All that `doctor` and `cleanup` look for, and how a check is gone through."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from accounts.damage import AccountDamage
from accounts.debris import AccountDebris
from accounts.misfiled import Misfiled
from retwis_site.damage import Damage
from retwis_site.exceptions import StoreRefused
from retwis_site.findings import AT_ONCE, Check, Finding
from retwis_site.store import Store
from timeline.damage import TimelineDamage
from timeline.debris import TimelineDebris
from timeline.holes import Holes
from timeline.miscounts import Miscounts
from timeline.overdue import Overdue

EXAMPLES = 20  # findings of each check that are told in full; the others are only counted


def errors(store: Store) -> list[Check]:
    """Damage to truth or its mirrors, in an order in which each repair can rely on those before it."""
    sources = (Damage, Overdue, AccountDamage, Misfiled, TimelineDamage, Miscounts, Holes)
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
