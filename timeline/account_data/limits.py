"""How often a user may download their data."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

DOWNLOADS = Limit(
    *("download", 10, 3600, "downloads"),
    _("Too many downloads in a short time. The limit is %(times)d."),
)
