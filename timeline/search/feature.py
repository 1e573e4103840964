"""Search: posts are found by their words."""

from retwis_site.features import Feature
from timeline.search.index.writing import finish_jobs

FEATURE = Feature(
    batches={"index": finish_jobs},
)
