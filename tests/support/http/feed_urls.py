"""The feeds that the tests ask for."""

FEEDS = ["/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"]
