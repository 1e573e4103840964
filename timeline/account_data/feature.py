"""The personal download: all data of a user, in one file; and such a file brought back."""

from django.utils.translation import gettext_lazy as _

from retwis_site.fair_queue import FairQueue
from retwis_site.features import Feature
from retwis_site.store.rate_limits import Limit
from timeline.account_data.restoring import finish_lists, finish_post

# ---- How often a user may download their data.


DOWNLOADS = Limit("download", 10, 3600, "downloads", _("Too many downloads in a short time."))


# ---- What it declares


FEATURE = Feature(
    urls="timeline.account_data.views",
    slow_views={("GET", "download"): FairQueue(at_once=2, waiting=16)},
    jobs={"restore": finish_post, "lists": finish_lists},
    put_off={},
    limits=(DOWNLOADS,),
)
