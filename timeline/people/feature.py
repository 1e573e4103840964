"""Pages of people: followers and following, everyone, search, suggestions."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.people.urls")
