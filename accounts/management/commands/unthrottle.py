"""`manage.py unthrottle alice`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.management.people import uid_of
from accounts.signing_in.feature import LOGINS, login_subject
from retwis_site.features import features
from retwis_site.http.client_ip import network_of
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.store.rate_limits import RateLimits


class Command(StoreCommand):
    help = (
        "Forget all that the rate limits have counted of a user. With --address also of that address, and the wrong "
        "passwords for this user from there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--address", help="the user's IP address")

    def run(self, store: Store, **options: Any) -> None:
        username, address = options["username"], options["address"]
        subjects = [str(uid_of(store, username))]
        limits = RateLimits(store)
        if address is not None:
            network = network_of(address)
            if not network:
                raise CommandError(f"{address!r} is no IP address.")
            subjects.append(network)
            limits.forget(LOGINS, login_subject(username, network))
        for limit in (limit for feature in features() for limit in feature.limits):
            for subject in subjects:
                limits.forget(limit, subject)
        self.say(f"Nothing is counted of {username} any more.")
