"""`manage.py site`, `manage.py site name=Ravens registration=invite`"""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.community.acts import change_site
from accounts.community.views import SiteForm, checked
from retwis_site.http.form_fields import is_visible
from retwis_site.identity import FRESH_FOR, ask_stored_site
from retwis_site.management.base import StoreCommand, announcer
from retwis_site.store.client import Store, answer

WORDS = tuple(SiteForm.base_fields)


class Command(StoreCommand):
    help = f"Print the site's own words, or change some of them. An empty value sets the default. {', '.join(WORDS)}."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs="*", metavar="KEY=VALUE")

    def run(self, store: Store, **options: Any) -> None:
        fields = dict(_field(text) for text in options["words"])
        if fields:
            change_site(store, fields)
            announcer(self, self.verbosity)(f"Changed. Every page shows it within {FRESH_FOR} seconds.")
        site = answer(store, ask_stored_site)
        for name in WORDS:
            self.say(f"{name}={getattr(site, name)}")


def _field(text: str) -> tuple[str, str]:
    """Raises CommandError for what is no field with a valid value."""
    name, equals, value = text.partition("=")
    if not equals or name not in WORDS:
        raise CommandError(f"{text!r}: write KEY=VALUE, where KEY is one of {', '.join(WORDS)}.")
    if value and not is_visible(value):
        raise CommandError(f"{name}: nobody can see this text. An empty value sets the default.")
    try:
        return name, checked(name, value)
    except ValidationError as error:
        choices = ", ".join(key for key, _ in getattr(SiteForm.base_fields[name], "choices", ()) if key)
        raise CommandError(f"{name}: {' '.join(error.messages)}{choices and f' Choose one of: {choices}.'}") from error
