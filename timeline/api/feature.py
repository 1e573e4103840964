"""Mastodon's client API, for apps."""

from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature


def _both(*addresses: str) -> list[str]:
    """With and without a last slash."""
    return [f"{address}{slash}" for address in addresses for slash in ("", "/")]


FEATURE = Feature(
    urls="timeline.api.views",
    slow_views={("POST", address): HASHING for address in _both("/api/v1/accounts")},  # a registration
    uploads=_both("/api/v1/media", "/api/v2/media", "/api/v1/accounts/update_credentials"),
)
