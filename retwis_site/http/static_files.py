"""Names of static files: with their hash once `collectstatic` has run, plain before."""

from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """`{% static %}` gives `retwis.3f2a....css`, cacheable for ever; a file that was not collected keeps its name."""

    manifest_strict = False

    def hashed_name(self, name: str, *args: Any, **kwargs: Any) -> str:
        try:
            return str(super().hashed_name(name, *args, **kwargs))
        except ValueError:  # not under STATIC_ROOT (yet): WHITENOISE_USE_FINDERS serves it by its own name
            return name
