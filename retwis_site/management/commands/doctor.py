"""`manage.py doctor`"""

import json
import sys
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.exceptions import StoreRefused
from retwis_site.maintenance.checks import Check
from retwis_site.maintenance.examination import Examination, inconsistencies, orphans
from retwis_site.maintenance.server_advice import Advice, advice
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory


@dataclass(frozen=True)
class _Report:
    errors: list[Examination]
    orphans: list[Examination]
    advice: list[Advice]


class Command(StoreCommand):
    help = (
        "Check every invariant of the store. Reports errors (inconsistencies; exit code 1), orphans (harmless; "
        "`cleanup` removes them) and advice on the server. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--fix", action="store_true", help="fix the errors, and remove the orphans")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, store: Store, **options: Any) -> None:
        errors = [self._examine(check, options["fix"]) for check in inconsistencies(store)]
        found_orphans = [self._examine(check, options["fix"]) for check in orphans(store)]
        if options["fix"]:
            Memory.clear_all()
        report = _Report(errors, found_orphans, _advice(store))
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(report), indent=2))
        else:
            self._print(report)
        if any(one.left for one in report.errors):
            sys.exit(1)

    def _examine(self, check: Check, repairs: bool) -> Examination:
        examination = Examination(check, repairs)
        for _ in self.progress(check.label, examination):
            pass
        return examination

    def _print(self, report: _Report) -> None:
        for kind, examinations in (("error", report.errors), ("orphans", report.orphans)):
            for examination in examinations:
                if examination.found or examination.refused:
                    self._print_findings(kind, examination)
        for piece in report.advice:
            self.say(f"advice: {piece.text} {piece.hint}")
        total, left = sum(one.found for one in report.errors), sum(one.left for one in report.errors)
        if left:
            self.say(f"{left} errors. Fix them with: manage.py doctor --fix")
        elif total:
            self.say(f"{total} errors, all fixed.")
        else:
            self.say("No errors.")
        harmless = sum(one.left for one in report.orphans)
        if harmless:
            self.say(f"{harmless} orphans, which are harmless. Remove them with: manage.py cleanup")

    def _print_findings(self, kind: str, examination: Examination) -> None:
        repaired = f", {examination.repaired} fixed" if examination.repairs else ""
        self.say(f"{kind}: {examination.check.label}: {examination.found}{repaired}")
        for example in examination.examples:
            self.say(f"    {example}")
        if examination.found > len(examination.examples):
            self.say(f"    ... and {examination.found - len(examination.examples)} more")
        if examination.refused:
            self.say(f"    stopped: {examination.refused}")


def _advice(store: Store) -> list[Advice]:
    try:
        return advice(store)
    except StoreRefused as error:
        hint = "Allow INFO for its user, or check its settings yourself."
        return [Advice("retwis.W002", f"The settings of the server could not be read: {error}.", hint)]


def _as_json(report: _Report) -> dict[str, Any]:
    """`errors` and `debris` (the orphans): findings by check, with up to EXAMPLES `examples`. `advice`: like system
    checks."""
    return {
        "ok": not any(one.left for one in report.errors),
        "errors": [_findings(one) for one in report.errors if one.found or one.refused],
        "debris": [_findings(one) for one in report.orphans if one.found or one.refused],
        "advice": [{"id": one.id, "text": one.text, "hint": one.hint} for one in report.advice],
    }


def _findings(examination: Examination) -> dict[str, Any]:
    return {
        "check": examination.check.label,
        "found": examination.found,
        "repaired": examination.repaired,
        "examples": examination.examples,
        "stopped": examination.refused or None,
    }
