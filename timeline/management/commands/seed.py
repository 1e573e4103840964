"""`manage.py seed`"""

import argparse
import sys
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.management.base import CommandError, CommandParser

from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from timeline.demo import seeding
from timeline.demo.seeding import Community, Plan


def count(text: str) -> int:
    """An argument that counts something."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


class Command(StoreCommand):
    help = (
        "Fill the store with a demo community. The same numbers and --seed give the same people, follows and posts. "
        "Refuses a store that holds users, unless --flush."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--users", type=count, default=1000, help="how many people (default 1000)")
        parser.add_argument("--posts", type=count, default=20_000, help="how many posts (default 20000)")
        parser.add_argument("--follows", type=count, default=40, help="how many each follows on average (default 40)")
        parser.add_argument("--seed", type=int, default=1, help="another number makes another community (default 1)")
        parser.add_argument("--flush", action="store_true", help="first delete all of the site's keys")
        parser.add_argument(
            "--noinput", "--no-input", action="store_false", dest="interactive", help="do not ask before deleting"
        )

    def run(self, store: Store, **options: Any) -> None:
        plan = Plan(options["users"], options["posts"], options["follows"], options["seed"])
        if plan.users < 1:
            raise CommandError("A community needs one user at least: --users 1")
        if options["flush"]:
            self._flush(store, options["interactive"])
        elif seeding.is_used(store):
            raise CommandError(
                "This store holds users, or what is left of some. To delete it all and begin anew: --flush"
            )
        seeding.set_counters(store, plan)
        steps = Community(plan, make_password(settings.DEMO_PASSWORD)).steps()
        for batch in self.progress("Seeding", list(seeding.batches(steps, seeding.BATCH))):
            seeding.write(store, batch)
        login = f"Log in as {settings.DEMO_USER} with the password {settings.DEMO_PASSWORD}"
        self.say(f"{plan.users} users and {plan.posts} posts. {login}")

    def _flush(self, store: Store, interactive: bool) -> None:
        if interactive and sys.stdin.isatty() and seeding.is_used(store):
            answer = input("This deletes every user and every post of the site. Type 'yes' to go on: ")
            if answer != "yes":
                raise CommandError("Nothing was deleted.")
        gone = seeding.flush(store)
        Memory.clear_all()
        if gone:
            self.say(f"{gone} keys deleted.")
