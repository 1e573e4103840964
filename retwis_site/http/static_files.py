"""The names of static files: with a hash after `collectstatic`, plain before it."""

from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """`{% static %}` gives `retwis.3f2a....css`, which can be cached forever. An uncollected file keeps its name."""

    manifest_strict = False

    def hashed_name(self, name: str, *args: Any, **kwargs: Any) -> str:
        try:
            return str(super().hashed_name(name, *args, **kwargs))
        except ValueError:  # not under STATIC_ROOT (yet): WHITENOISE_USE_FINDERS serves it by its plain name
            return name
