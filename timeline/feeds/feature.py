"""Feeds of profiles and of everyone's posts, and what search engines read."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.feeds.urls")
