"""The key browser: pages that show the keys of the store."""

from retwis_site.features import Feature

FEATURE = Feature(urls="accounts.inspector.views")
