"""How often a user may report."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

REPORTS = Limit(
    *("report", 30, 3600, "reports"),
    _("Too many reports in a short time. The limit is %(times)d."),
)
