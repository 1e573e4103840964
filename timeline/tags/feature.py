"""Hashtags: the page of each, the posts of those that a user follows, and what completes names and tags."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.store.rate_limits import Limit
from timeline.tags.tags import SPELLINGS, TagChecks

# ---- How often names and tags are completed.


COMPLETIONS = Limit("complete", 300, 300, "completions", _("Too many suggestions in a short time."))


# ---- What it declares


FEATURE = Feature(
    urls="timeline.tags.views",
    limits=(COMPLETIONS,),
    searchers=(TagChecks,),
    site_lines=(SPELLINGS,),
)
