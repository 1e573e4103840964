"""`manage.py seed`"""

from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.examination import examine_all
from retwis_site.maintenance.filling import clear, is_used
from retwis_site.management.base import StoreCommand, number
from retwis_site.store.chunks import batches
from retwis_site.store.client import Store, without_gate
from retwis_site.store.connection import topology
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import StoreState
from timeline.demo import seeding
from timeline.demo.seeding import Community, Plan
from timeline.management.commands.reindex import write_index


class Command(StoreCommand):
    help = (
        "Fill the store with a demo community. The same numbers and --seed give the same people, follows and posts. "
        "Refuses a store that has users, unless --flush. After a crash, run the command again: it starts from the "
        "beginning. Until it has ended, the site answers 503."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--users", type=number(1), default=1000, help="number of users (default 1000)")
        parser.add_argument("--posts", type=number(0), default=20_000, help="number of posts (default 20000)")
        parser.add_argument(
            "--follows", type=number(0), default=40, help="average number of follows of a user (default 40)"
        )
        parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
        parser.add_argument("--flush", action="store_true", help="first delete all of the site's keys")
        parser.add_argument(
            "--noinput", "--no-input", action="store_false", dest="interactive", help="do not ask before deleting"
        )

    def run(self, store: Store, **options: Any) -> None:
        plan = Plan(options["users"], options["posts"], options["follows"], options["seed"])
        free = without_gate()  # a seeding closes the gate until it has ended
        if not seeding.was_killed(free):  # `begin` removes what that one has left, once it can write no more
            if options["flush"]:
                self._flush(store, options["interactive"])
            elif is_used(store):
                fix = "To delete all of its keys first: --flush"
                raise CommandError(f"This store holds users, or remains of users. {fix}")
        run = seeding.begin(free)
        community = Community(plan, make_password(settings.DEMO_PASSWORD))
        for batch in self.progress("Seeding", community, community.steps):
            seeding.write(free, run, batch)
        write_index(self, free)
        for batch in batches(community.names(), seeding.BATCH):
            seeding.write(free, run, batch)
        seeding.finish(free, run, plan)
        login = f"Log in as {settings.DEMO_USER} with the password {settings.DEMO_PASSWORD}"
        self.say(f"{plan.users} users and {plan.posts} posts. {login}")

    def _flush(self, store: Store, interactive: bool) -> None:
        if examine_all(store) is StoreState.FOREIGN:
            raise CommandError(
                "Nothing was deleted: the official Retwis has written this store. Name another one in REDIS_URL, or "
                "empty this one with redis-cli."
            )
        if interactive and is_used(store):
            self._confirm(store)
        deleted = clear(store)
        Memory.clear_all()
        if deleted:
            self.say(f"{deleted} keys deleted.")

    def _confirm(self, store: Store) -> None:
        """Ask whether to delete everything. Standard input may be a pipe: then the answer is its first line."""
        census = self.count(store)
        wanted = str(census.users) if settings.REDIS_URL else "yes"
        word = "the number of users" if settings.REDIS_URL else "'yes'"
        numbers = f"users: {census.users}, posts: {census.posts}"
        try:
            answer = input(
                f"This deletes the whole site ({topology.described()}; {numbers}). Type {word} to continue: "
            )
        except EOFError:
            raise CommandError("Nothing was deleted: there was no answer. Without a question: --noinput") from None
        if answer.strip() != wanted:
            raise CommandError(f"Nothing was deleted: the answer was not {word}.")
