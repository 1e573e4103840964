"""Mastodon's client API, for apps."""

from retwis_site.features import Feature

UPLOADS = ("/api/v1/media", "/api/v2/media", "/api/v1/accounts/update_credentials")
FEATURE = Feature(urls="timeline.api.views", uploads=[f"{path}{slash}" for path in UPLOADS for slash in ("", "/")])
