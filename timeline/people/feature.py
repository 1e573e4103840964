"""Pages of people: followers, following, the directory of all users, search, suggestions."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.people.urls")
