"""The personal download: all data of a user, in one file; and such a file brought back."""

from retwis_site.fair_queue import FairQueue
from retwis_site.features import Feature
from timeline.account_data.limits import DOWNLOADS
from timeline.account_data.restoring import finish_lists, finish_post

FEATURE = Feature(
    urls="timeline.account_data.urls",
    slow_views={("GET", "download"): FairQueue(at_once=2, waiting=16)},
    jobs={"restore": finish_post, "lists": finish_lists},
    limits=(DOWNLOADS,),
)
