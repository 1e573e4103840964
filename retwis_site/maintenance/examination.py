"""All checks of `doctor` and `cleanup`, and how checks are run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.timesince import timesince

from retwis_site.exceptions import StoreRefused
from retwis_site.features import features
from retwis_site.jobs.outbox_checks import OutboxChecks
from retwis_site.maintenance.census import Census
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, in_new_pass, keys_of
from retwis_site.maintenance.key_checks import KeyChecks
from retwis_site.maintenance.server_advice import Advice
from retwis_site.rendering.dates import iso, moment_of
from retwis_site.store.client import Store

EXAMPLES = 20  # findings of each check that are printed; the others are only counted


def inconsistencies(store: Store) -> list[Check]:
    """The checks of truth and mirrors, in the order of `Check.after`."""
    of_features = [check for feature in features() for check in feature.inconsistencies(store)]
    of_keys = KeyChecks(store)
    first = [of_keys.types(), of_keys.values(), *of_keys.counters_first()]
    return [*first, *OutboxChecks(store).inconsistencies(), *of_features, *of_keys.counters_last()]


def adoption(store: Store) -> list[Check]:
    """What `adopt` changes in a database of the official Retwis, before the repairs of `inconsistencies`."""
    of_features = [check for feature in features() for check in feature.adoption(store)]
    return [KeyChecks(store).types(), *in_new_pass(of_features)]


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


# ---- The report of `doctor`: as lines for people, and as JSON for programs.


FOREIGN = (
    "This store has to be adopted first: the official Retwis has written it. Nothing was checked or changed. "
    "See what would become of it with: manage.py adopt --dry-run (docs/adopting.md)"
)


@dataclass(frozen=True)
class Report:
    """What `doctor` has found. A foreign store has no examinations."""

    census: Census
    is_foreign: bool
    advice: list[Advice]
    errors: list[Examination] = field(default_factory=list)
    orphans: list[Examination] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything was checked and nothing is left to repair. Orphans and advice do not count."""
        return not (self.is_foreign or self._left or self._not_run)

    @property
    def _left(self) -> int:
        return sum(one.left for one in self.errors)

    @property
    def _not_run(self) -> list[tuple[str, str]]:
        """Label and reason of everything that the store refused to let run."""
        refused = [(one.check.label, one.refused) for one in (*self.errors, *self.orphans) if one.refused]
        return [("counts", self.census.refused), *refused] if self.census.refused else refused

    def lines(self) -> Iterator[str]:
        yield from _counts(self.census)
        for kind, examinations in (("error", self.errors), ("orphans", self.orphans)):
            for examination in examinations:
                if examination.found:
                    yield from _findings(kind, examination)
        for piece in self.advice:
            yield f"advice: {piece.text} {piece.hint}"
        for label, reason in self._not_run:
            yield f"could not run: {label}: {reason}"
        yield from [FOREIGN] if self.is_foreign else self._conclusion()

    def _conclusion(self) -> Iterator[str]:
        found, orphans = sum(one.found for one in self.errors), sum(one.left for one in self.orphans)
        if self._left:
            repairs = any(one.repairs for one in self.errors)
            fix = "The lines above say what to do." if repairs else "Fix them with: manage.py doctor --fix"
            yield f"errors: {self._left}. {fix}"
        elif found:
            yield f"errors: {found}, all fixed."
        else:
            yield "No errors in the checks that ran." if self._not_run else "No errors."
        if orphans:
            yield f"orphans: {orphans}. They are harmless. Remove them with: manage.py cleanup"
        if self._not_run:
            fix = "Give the site's user the rights in docs/redis.md; fix the errors above; then run this again."
            yield f"checks that could not run: {len(self._not_run)}. {fix}"

    def as_json(self) -> dict[str, Any]:
        """`errors` and `debris` (the orphans): findings by check, with up to EXAMPLES `examples`. `advice`: like system
        checks."""
        census = self.census
        return {
            "ok": self.ok,
            "foreign": self.is_foreign,
            "counts": {"users": census.users, "posts": census.posts, "follows": census.follows, "jobs": census.jobs},
            "posts_are_estimated": census.posts_are_estimated,
            "newest_post": None if census.newest_post is None else iso(census.newest_post),
            "errors": [_as_json(one) for one in self.errors if one.found or one.refused],
            "debris": [_as_json(one) for one in self.orphans if one.found or one.refused],
            "could_not_run": [{"check": label, "reason": reason} for label, reason in self._not_run],
            "advice": [{"id": one.id, "text": one.text, "hint": one.hint} for one in self.advice],
        }


def _counts(census: Census) -> Iterator[str]:
    about = "about " if census.posts_are_estimated else ""
    yield (
        f"users: {census.users}, posts: {about}{census.posts}, follows: {census.follows}, "
        f"jobs in the outbox: {census.jobs}"
    )
    if census.newest_post is not None:
        age = timesince(moment_of(census.newest_post), depth=1).replace("\xa0", " ")
        yield f"age of the newest post: {age}"


def _findings(kind: str, examination: Examination) -> Iterator[str]:
    repaired = f", {examination.repaired} fixed" if examination.repairs else ""
    yield f"{kind}: {examination.check.label}: {examination.found}{repaired}"
    for example in examination.examples:
        yield f"    {example}"
    if examination.found > len(examination.examples):
        yield f"    ... and {examination.found - len(examination.examples)} more"


def _as_json(examination: Examination) -> dict[str, Any]:
    return {
        "check": examination.check.label,
        "found": examination.found,
        "repaired": examination.repaired,
        "examples": examination.examples,
        "stopped": examination.refused or None,
    }
