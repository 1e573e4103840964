"""Feeds of profiles and of everyone's posts; robots.txt and the sitemap."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.feeds.views")
