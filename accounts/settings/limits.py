"""The rate limit of changes to a profile."""

from django.utils.translation import ngettext_lazy

from retwis_site.store.rate_limits import Limit

EDITS = Limit(
    *("edit", 60, 3600, "changes to a profile"),
    ngettext_lazy(
        "That would be more than %(times)d change to your profile in a short time.",
        "That would be more than %(times)d changes to your profile in a short time.",
        "times",
    ),
)
