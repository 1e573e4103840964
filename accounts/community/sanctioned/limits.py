"""The rate limit of appeals."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

APPEALS = Limit(
    *("appeal", 10, 3600, "appeals"),
    _("Too many appeals in a short time. The limit is %(times)d."),
)
