"""Rate limits of what people do with the site's own words."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

DISMISSALS = Limit(
    *("dismiss", 60, 3600, "dismissed announcements"),
    _("Too many dismissed announcements in a short time. The limit is %(times)d."),
)
SITE_CHANGES = Limit(
    *("site", 60, 3600, "changes of the site"),
    _("Too many changes of the site in a short time. The limit is %(times)d."),
)
