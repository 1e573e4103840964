"""The report of `doctor`: as lines for people, and as JSON for programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.timesince import timesince

from retwis_site.maintenance.census import Census
from retwis_site.maintenance.examination import Examination
from retwis_site.maintenance.server_advice import Advice
from retwis_site.rendering.dates import iso, moment_of

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
