"""How often names and tags are completed."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

COMPLETIONS = Limit(
    *("complete", 300, 300, "completions"),
    _("Too many suggestions in a short time. The limit is %(times)d."),
)
