"""Apps of other people, which speak Mastodon's client API: OAuth 2, and what each may do."""

from accounts.apps.repository import TokenChecks
from retwis_site.features import Feature

FEATURE = Feature(
    orphans=lambda store: TokenChecks(store).orphans(),
)
