"""`manage.py doctor`"""

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.exceptions import StoreRefused
from retwis_site.maintenance.checks import Check
from retwis_site.maintenance.examination import Examination, inconsistencies, orphans
from retwis_site.maintenance.server_advice import Advice, advice
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory


class Command(StoreCommand):
    help = (
        "Check every invariant of the store: errors (damage to truth or its mirrors; exit code 1), debris (harmless; "
        "`cleanup` removes it) and advice on the server. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--fix", action="store_true", help="put right what is wrong, and remove debris")
        parser.add_argument("--json", action="store_true", help="answer in JSON")

    def run(self, store: Store, **options: Any) -> None:
        damaged = [self._examine(check, options["fix"]) for check in inconsistencies(store)]
        littered = [self._examine(check, options["fix"]) for check in orphans(store)]
        if options["fix"]:
            Memory.clear_all()
        advised = _advice(store)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(damaged, littered, advised), indent=2))
        else:
            self._tell(damaged, littered, advised)
        if any(one.left for one in damaged):
            sys.exit(1)

    def _examine(self, check: Check, repairs: bool) -> Examination:
        examination = Examination(check, repairs)
        for _ in self.progress(check.label, examination):
            pass
        return examination

    def _tell(self, damaged: list[Examination], littered: list[Examination], advised: list[Advice]) -> None:
        for kind, examinations in (("error", damaged), ("debris", littered)):
            for one in examinations:
                if one.found or one.refused:
                    self._tell_of(kind, one)
        for piece in advised:
            self.say(f"advice: {piece.text} {piece.hint}")
        total, left = sum(one.found for one in damaged), sum(one.left for one in damaged)
        if left:
            self.say(f"{left} errors. Put them right with: manage.py doctor --fix")
        elif total:
            self.say(f"{total} errors, all put right.")
        else:
            self.say("No errors.")
        harmless = sum(one.left for one in littered)
        if harmless:
            self.say(f"{harmless} pieces of debris, which are harmless: manage.py cleanup removes them.")

    def _tell_of(self, kind: str, one: Examination) -> None:
        done = f", {one.repaired} put right" if one.repairs else ""
        self.say(f"{kind}: {one.check.label}: {one.found}{done}")
        for example in one.examples:
            self.say(f"    {example}")
        if one.found > len(one.examples):
            self.say(f"    ... and {one.found - len(one.examples)} more")
        if one.refused:
            self.say(f"    stopped: {one.refused}")


def _advice(store: Store) -> list[Advice]:
    try:
        return advice(store)
    except StoreRefused as error:
        hint = "Allow its user INFO, or look at its settings yourself."
        return [Advice("retwis.W002", f"The server does not tell about itself: {error}.", hint)]


def _as_json(damaged: list[Examination], littered: list[Examination], advised: list[Advice]) -> dict[str, Any]:
    """`errors` and `debris`: what was found, by check; `examples` has some of many. `advice`: as system checks."""
    return {
        "ok": not any(one.left for one in damaged),
        "errors": [_found(one) for one in damaged if one.found or one.refused],
        "debris": [_found(one) for one in littered if one.found or one.refused],
        "advice": [{"id": one.id, "text": one.text, "hint": one.hint} for one in advised],
    }


def _found(one: Examination) -> dict[str, Any]:
    return {
        "check": one.check.label,
        "found": one.found,
        "repaired": one.repaired,
        "examples": one.examples,
        "stopped": one.refused or None,
    }
