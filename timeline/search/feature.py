"""Search: posts are found by their words."""

from retwis_site.features import Feature
from timeline.search.index.checks import IndexChecks, advice
from timeline.search.index.writing import finish_jobs
from timeline.search.limits import SEARCHES, VISITORS_SEARCHES

FEATURE = Feature(
    urls="timeline.search.urls",
    batches={"index": finish_jobs},
    limits=(SEARCHES, VISITORS_SEARCHES),
    inconsistencies=lambda store: IndexChecks(store).inconsistencies(),
    advice=advice,
    orphans=lambda store: IndexChecks(store).orphans(),
)
