"""How often a user may follow, and block or mute."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

FOLLOWS = Limit(
    *("follow", 120, 3600, "follows"),
    _("Too many follows in a short time. The limit is %(times)d."),
)
BLOCKS = Limit(
    *("block", 120, 3600, "blocks and mutes"),
    _("Too many blocks and mutes in a short time. The limit is %(times)d."),
)
