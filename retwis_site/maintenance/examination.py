"""All that `doctor` and `cleanup` look for, and how a check is run."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from retwis_site.exceptions import StoreRefused
from retwis_site.features import features
from retwis_site.jobs.outbox_checks import OutboxChecks
from retwis_site.maintenance.checks import AT_ONCE, Check, Finding
from retwis_site.maintenance.key_checks import KeyChecks
from retwis_site.store.client import Store

EXAMPLES = 20  # findings of each check that are shown; the others are only counted


def inconsistencies(store: Store) -> list[Check]:
    """The checks for damage to truth or mirrors, in an order in which each repair can rely on those before it."""
    of_features = [check for feature in features() for check in feature.inconsistencies(store)]
    first = [*KeyChecks(store).inconsistencies(), *OutboxChecks(store).inconsistencies()]
    return [*first, *of_features, *KeyChecks(store).counters_last()]


def orphans(store: Store) -> list[Check]:
    """The checks for what crashes leave: harmless, and `cleanup` removes it."""
    of_features = [check for feature in features() for check in feature.orphans(store)]
    return [*of_features, *KeyChecks(store).orphans(), *OutboxChecks(store).orphans()]


def notices(store: Store) -> list[str]:
    """What features have to say about the database as a whole, a sentence each."""
    return [notice for feature in features() for notice in feature.notices(store)]


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
