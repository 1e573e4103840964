"""Search: posts are found by their words."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.store.rate_limits import Limit
from timeline.search.index import finish_jobs
from timeline.search.rebuilding import IndexChecks, advice

# ---- How often people may search.


# For each user
SEARCHES = Limit("search", 150, 300, "searches", _("Too many searches in a short time."))
# For each address, over all its visitors
VISITORS_SEARCHES = Limit(
    *("searches", 300, 300, "visitors' searches from your network"),
    _("Too many searches from your network in a short time."),
)


# ---- What it declares


FEATURE = Feature(
    urls="timeline.search.views",
    batches={"index": finish_jobs},
    put_off={},
    limits=(SEARCHES, VISITORS_SEARCHES),
    searchers=(IndexChecks,),
    advice=advice,
)
