"""How often a user may post."""

from django.utils.translation import ngettext_lazy

from retwis_site.store.rate_limits import Limit

POSTS = Limit(
    *("post", 60, 3600, "posts"),
    ngettext_lazy(
        "That would be more than %(times)d post in a short time.",
        "That would be more than %(times)d posts in a short time.",
        "times",
    ),
)
