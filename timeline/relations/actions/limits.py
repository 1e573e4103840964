"""How often a user may follow."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

FOLLOWS = Limit(
    *("follow", 120, 3600, "follows"),
    _("Too many follows in a short time. The limit is %(times)d."),
)
