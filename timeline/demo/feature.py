"""The demo community. `serve` makes it on an empty embedded server."""

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command

from retwis_site.features import Feature
from retwis_site.store import keys
from retwis_site.store.client import Store, without_gate
from timeline.demo.seeding import was_killed

COMMUNITY = ("--users=200", "--posts=4000", "--follows=30")  # made in a second


def _make_demo(store: Store, say: Callable[[str], None]) -> str:
    """Seed an empty store, and one in which a seeding was killed. Returns how to log in. A site that has lost its names
    has another first user, and stays."""
    begins_again = was_killed(without_gate())
    if begins_again or not store.hlen(keys.users()):
        if not begins_again and store.hget(keys.user(1), "username") not in {None, settings.DEMO_USER}:
            return "Nobody can log in: the store has lost all names. Run: manage.py doctor --fix"
        say("Making a demo community ...")
        call_command("seed", *COMMUNITY, "--flush", "--noinput", verbosity=0)
    if not store.hexists(keys.users(), settings.DEMO_USER):
        return ""
    return f"Log in as {settings.DEMO_USER} with the password {settings.DEMO_PASSWORD}, or register.\n"


FEATURE = Feature(before_serving=_make_demo)
