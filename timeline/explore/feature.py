"""Explore: tags of the week, posts of the day, people to follow. With EXPLORE=0 it is no feature of the site."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.explore.views")
