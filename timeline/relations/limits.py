"""How often a user may follow."""

from django.utils.translation import ngettext_lazy

from retwis_site.store.rate_limits import Limit

FOLLOWS = Limit(
    *("follow", 120, 3600, "follows"),
    ngettext_lazy(
        "That would be more than %(times)d follow in a short time.",
        "That would be more than %(times)d follows in a short time.",
        "times",
    ),
)
