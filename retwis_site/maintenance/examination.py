"""All checks of `doctor` and `cleanup`, and how a check is run."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from retwis_site.exceptions import StoreRefused
from retwis_site.features import features
from retwis_site.jobs.outbox_checks import OutboxChecks
from retwis_site.maintenance.checks import AT_ONCE, Check, Finding
from retwis_site.maintenance.key_checks import KeyChecks
from retwis_site.maintenance.value_checks import ValueChecks
from retwis_site.store.client import Store

EXAMPLES = 20  # findings of each check that are printed; the others are only counted


def inconsistencies(store: Store) -> list[Check]:
    """The checks of truth and mirrors. Each repair can rely on the checks before it."""
    of_features = [check for feature in features() for check in feature.inconsistencies(store)]
    of_keys = KeyChecks(store)
    first = [*of_keys.inconsistencies(), *ValueChecks(store).inconsistencies(), *of_keys.counters_first()]
    return [*first, *OutboxChecks(store).inconsistencies(), *of_features, *of_keys.counters_last()]


def adoption(store: Store) -> list[Check]:
    """What `adopt` changes in a database of the official Retwis, before the repairs of `inconsistencies`."""
    of_features = [check for feature in features() for check in feature.adoption(store)]
    return [*KeyChecks(store).inconsistencies(), *of_features]


def orphans(store: Store) -> list[Check]:
    """The checks for keys and entries that crashes leave behind. They are harmless, and `cleanup` removes them."""
    of_features = [check for feature in features() for check in feature.orphans(store)]
    return [*of_features, *KeyChecks(store).orphans(), *OutboxChecks(store).orphans()]


@dataclass
class Examination:
    """The run of a check, and its findings so far. Iterate to run it, a chunk a step. `len` estimates the steps."""

    check: Check
    repairs: bool  # whether each finding is repaired at once
    found: int = 0
    repaired: int = 0
    examples: list[str] = field(default_factory=list)
    refused: str = ""  # the error reply of the store that stopped the check: it could not run

    def __len__(self) -> int:
        try:
            return self.check.size() // AT_ONCE + 1
        except StoreRefused:  # the search will be refused too, and reports it
            return 1

    def __iter__(self) -> Iterator[None]:
        try:
            for chunk in self.check.search():
                for finding in chunk:
                    self._note(finding)
                yield
        except StoreRefused as error:  # such as a key of the wrong type, which has a check of its own
            self.refused = str(error)

    def _note(self, finding: Finding) -> None:
        self.found += finding.number
        if len(self.examples) < EXAMPLES:
            self.examples.append(finding.what)
        if self.repairs and finding.repair is not None:
            finding.repair()
            self.repaired += finding.number

    @property
    def left(self) -> int:
        """The number of findings that are not repaired."""
        return self.found - self.repaired
