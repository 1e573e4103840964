"""The rate limit of changes to a profile."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

EDITS = Limit(
    *("edit", 60, 3600, "changes to a profile"),
    _("Too many changes to your profile in a short time. The limit is %(times)d."),
)
