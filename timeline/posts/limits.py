"""How often a user may post."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

POSTS = Limit(
    *("post", 60, 3600, "posts"),
    _("Too many posts in a short time. The limit is %(times)d."),
)
