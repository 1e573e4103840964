"""How often a user may download their data."""

from django.utils.translation import ngettext_lazy

from retwis_site.store.rate_limits import Limit

DOWNLOADS = Limit(
    *("download", 10, 3600, "downloads"),
    ngettext_lazy(
        "That would be more than %(times)d download in a short time.",
        "That would be more than %(times)d downloads in a short time.",
        "times",
    ),
)
