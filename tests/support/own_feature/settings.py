"""The settings of a site with a feature of its own."""

from retwis_site.settings import *  # noqa: F403

FEATURES += ["tests.support.own_feature"]  # noqa: F405
