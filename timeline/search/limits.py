"""How often people may search."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

SEARCHES = Limit(  # for each user
    *("search", 150, 300, "searches"),
    _("Too many searches in a short time. The limit is %(times)d."),
)
VISITORS_SEARCHES = Limit(  # for each address, over all its visitors
    *("searches", 300, 300, "visitors' searches from your network"),
    _("Too many searches from your network in a short time. The limit is %(times)d."),
)
