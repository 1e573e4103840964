"""How often a user may act on posts."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

ACTIONS = Limit(
    *("act", 600, 3600, "actions"),
    _("Too many actions in a short time. The limit is %(times)d."),
)
