"""The demo community. `serve` makes it on an empty embedded server."""

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command

from retwis_site.features import Feature
from retwis_site.store import keys
from retwis_site.store.client import Store

COMMUNITY = ("--users=200", "--posts=4000", "--follows=30")  # made in a second


def _make_demo(store: Store, say: Callable[[str], None]) -> str:
    """Seed an empty store. Returns how to log in. A seeding that was killed leaves keys but no name: --flush removes
    these keys. A site that has lost its names has another first user, and stays."""
    if not store.hlen(keys.users()):
        if store.hget(keys.user(1), "username") not in {None, settings.DEMO_USER}:
            return "Nobody can log in: the store has lost all names. Run: manage.py doctor --fix"
        say("Making a demo community ...")
        call_command("seed", *COMMUNITY, "--flush", "--noinput", verbosity=0)
    if not store.hexists(keys.users(), settings.DEMO_USER):
        return ""
    return f"Log in as {settings.DEMO_USER} with the password {settings.DEMO_PASSWORD}, or register.\n"


FEATURE = Feature(before_serving=_make_demo)
