"""Mastodon's client API, for apps."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.api.views")
