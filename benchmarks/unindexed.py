"""The settings of a site that leaves its posts out of the index of the search.

`parts/search.py` compares it with the site as shipped.
"""

from django.apps import AppConfig

from retwis_site.settings import *  # noqa: F403
from retwis_site.settings import INSTALLED_APPS as ALL


class Unindexed(AppConfig):
    name = "benchmarks"

    def ready(self) -> None:
        from timeline.posts.writing import delivery  # it needs these settings

        delivery.leave_to_the_index = lambda pipe, pid: None


INSTALLED_APPS = [*ALL, "benchmarks.unindexed.Unindexed"]
