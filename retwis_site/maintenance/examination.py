"""All checks of `doctor` and `cleanup`, and how checks are run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from retwis_site.exceptions import StoreRefused
from retwis_site.features import features
from retwis_site.jobs.outbox_checks import OutboxChecks
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, in_new_pass, keys_of
from retwis_site.maintenance.key_checks import KeyChecks, ValueChecks
from retwis_site.store.client import Store

EXAMPLES = 20  # findings of each check that are printed; the others are only counted


def inconsistencies(store: Store) -> list[Check]:
    """The checks of truth and mirrors, in the order of `Check.after`."""
    of_features = [check for feature in features() for check in feature.inconsistencies(store)]
    of_keys = KeyChecks(store)
    first = [*of_keys.inconsistencies(), *ValueChecks(store).inconsistencies(), *of_keys.counters_first()]
    return [*first, *OutboxChecks(store).inconsistencies(), *of_features, *of_keys.counters_last()]


def adoption(store: Store) -> list[Check]:
    """What `adopt` changes in a database of the official Retwis, before the repairs of `inconsistencies`."""
    of_features = [check for feature in features() for check in feature.adoption(store)]
    return [*KeyChecks(store).inconsistencies(), *in_new_pass(of_features)]


def orphans(store: Store) -> list[Check]:
    """The checks for keys and entries that crashes leave behind. They are harmless, and `cleanup` removes them."""
    of_features = [check for feature in features() for check in feature.orphans(store)]
    return [*of_features, *KeyChecks(store).orphans(), *OutboxChecks(store).orphans()]


@dataclass
class Examination:
    """What a check has found so far."""

    check: Check
    repairs: bool  # whether each finding is repaired at once
    found: int = 0
    repaired: int = 0
    examples: list[str] = field(default_factory=list)
    refused: str = ""  # the error reply of the store that stopped the check: it could not run
    is_over: bool = False

    def take(self, chunks: Chunks) -> Iterator[None]:
        """Count the findings, and repair them, a chunk a step. A refusal of the store ends the check."""
        try:
            for chunk in chunks:
                for finding in chunk:
                    self._note(finding)
                yield
        except StoreRefused as error:  # such as a key of the wrong type, which has a check of its own
            self.stop(error)

    def stop(self, error: StoreRefused) -> None:
        self.refused, self.is_over = str(error), True

    def _note(self, finding: Finding) -> None:
        self.found += finding.number
        if len(self.examples) < EXAMPLES:
            self.examples.append(finding.what)
        if self.repairs and finding.repair is not None:
            finding.repair()
            self.repaired += finding.number
        self.is_over = self.is_over or finding.is_last

    @property
    def left(self) -> int:
        """The number of findings that are not repaired."""
        return self.found - self.repaired


class Pass:
    """One pass over all keys, for checks that need nothing of each other about keys of other kinds. Iterate to run
    them, a chunk of keys a step. `len` estimates the steps."""

    def __init__(self, store: Store, checks: Iterable[Check], repairs: bool) -> None:
        self._store = store
        self.examinations = [Examination(check, repairs) for check in checks]
        self._of = list(dict.fromkeys(kind for one in self.examinations for kind in one.check.of))

    @property
    def label(self) -> str:
        """What a progress bar says."""
        first, *others = [one.check.label for one in self.examinations]
        return f"{first}, and {len(others)} more" if others else first

    def __len__(self) -> int:
        try:
            return self._store.dbsize() // AT_ONCE + 1
        except StoreRefused:  # the search will be refused too, and reports it
            return 1

    def __iter__(self) -> Iterator[None]:
        try:
            for kind, names in keys_of(self._store, self._of):
                for one in self.examinations:
                    if kind in one.check.of and not one.is_over:
                        yield from one.take(one.check.find(names))
        except StoreRefused as error:  # of SCAN
            for one in self.examinations:
                one.stop(error)
        for one in self.examinations:
            if not one.is_over:
                yield from one.take(one.check.at_end())


def passes(store: Store, checks: Sequence[Check], *, repairs: bool) -> Iterator[Pass]:
    """The passes that run these checks in their order. `repairs`: whether each finding is repaired at once."""
    starts = [number for number, check in enumerate(checks) if not number or check.after]
    for start, end in zip(starts, [*starts[1:], len(checks)], strict=True):
        yield Pass(store, checks[start:end], repairs)
