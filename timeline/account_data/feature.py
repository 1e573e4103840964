"""The personal download: all data of a user, in one file."""

from retwis_site.features import Feature
from timeline.account_data.limits import DOWNLOADS

FEATURE = Feature(urls="timeline.account_data.urls", slow_views=("download",), limits=(DOWNLOADS,))
