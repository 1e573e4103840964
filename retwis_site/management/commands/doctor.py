"""`manage.py doctor`"""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.exceptions import StoreRefused
from retwis_site.features import features
from retwis_site.jobs.worker import worker_advice
from retwis_site.maintenance.examination import Census, DoctorReport, Examination, inconsistencies, orphans
from retwis_site.maintenance.server_advice import Advice, advice, clock_advice, ids_ahead, require_no_lost_keys
from retwis_site.management.base import StoreCommand, add_accept_loss
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import StoreState, examine

OLDER = Advice(
    "retwis.W020", "An older version of the site has written this store.", "Stop the site and run: manage.py db upgrade"
)

MOST_ROUNDS = 3


class Command(StoreCommand):
    help = (
        "Count what the site holds, and check every invariant of the store. Reports errors (inconsistencies), orphans "
        "(harmless; `cleanup` removes them) and advice on the server and the accounts. Exit code 1: errors are left, a "
        "check could not run, or the store has to be adopted first. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--fix", action="store_true", help="fix the errors, and remove the orphans")
        add_accept_loss(parser)
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument(
            "--fail-on",
            choices=("errors", "advice"),
            default="errors",
            help="`advice`: the exit code is also 1 when there is advice (default: errors)",
        )

    def run(self, store: Store, **options: Any) -> None:
        if options["fix"] and not options["accept_loss"]:
            require_no_lost_keys(store)
        report = self._report(store, options["fix"])
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=2))
        else:
            for line in report.lines():
                self.say(line)
        if not report.ok or (report.advice and options["fail_on"] == "advice"):
            sys.exit(1)

    def _report(self, store: Store, repairs: bool) -> DoctorReport:
        census = self.count(store)
        state = _state(store, census)
        if state is StoreState.FOREIGN:
            return DoctorReport(census, True, [*_server_advice(store), *census.advice()])
        errors, of_orphans = self._examined(store, repairs)
        if repairs:
            Memory.clear_all()
            census = self.count(store)
        found = [*_server_advice(store), *clock_advice(), *ids_ahead(store), *census.advice(), *_advice(store)]
        if state is StoreState.OLDER:
            found.append(OLDER)
        return DoctorReport(census, False, found, errors, of_orphans)

    def _examined(self, store: Store, repairs: bool) -> tuple[list[Examination], list[Examination]]:
        """All checks of errors, and those of orphans. A repair may show what a check before it could not see: so all
        run again after a repair of an error. The last round only looks whether repairs have helped."""
        examined: list[Examination] = []
        for number in range(1, MOST_ROUNDS + 1):
            checks, before = inconsistencies(store), examined
            repairing = repairs and number < MOST_ROUNDS
            examined = list(self.examine(store, [*checks, *orphans(store)], repairs=repairing))
            has_repaired = any(one.repaired for one in examined[: len(checks)])
            for one, earlier in zip(examined, before, strict=False):
                one.follow(earlier)
            if not has_repaired:
                break
        return examined[: len(checks)], examined[len(checks) :]


def _state(store: Store, census: Census) -> StoreState:
    try:
        return census.certain(examine(store))
    except StoreRefused:  # such as for `users` of the wrong type, which has a check of its own
        return census.certain(StoreState.OLDER)


def _advice(store: Store) -> Iterator[Advice]:
    """The advice on workers, and that of all features."""
    for of in (worker_advice, *(feature.advice for feature in features())):
        with suppress(StoreRefused):  # such as for a key of the wrong type, which has a check of its own
            yield from of(store)


def _server_advice(store: Store) -> list[Advice]:
    try:
        return advice(store)
    except StoreRefused as error:
        hint = "Allow INFO for its user, or check its settings yourself."
        return [Advice("retwis.W002", f"The settings of the server could not be read: {str(error).rstrip('.')}.", hint)]
