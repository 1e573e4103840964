"""Hashtags: the page of each, the posts of those that a user follows, and what completes names and tags."""

from retwis_site.features import Feature
from timeline.tags.limits import COMPLETIONS
from timeline.tags.tag_checks import TagChecks

FEATURE = Feature(
    urls="timeline.tags.urls",
    limits=(COMPLETIONS,),
    inconsistencies=lambda store: TagChecks(store).inconsistencies(),
)
