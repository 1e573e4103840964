"""The setting LOGGING: who writes which lines, and how."""

import logging
from typing import Any

_LINES = "retwis_site.telemetry.log_lines"
_FORMATTERS = {
    "line": {
        "()": f"{_LINES}.BoundedLine",
        "format": "{asctime} {levelname} {name}{of_request}: {message}",
        "style": "{",
    },
    "json": {"()": "retwis_site.telemetry.log_lines.JsonLine"},
}


def log_settings(form: str, level: str) -> dict[str, Any]:
    """Python's description of a logging configuration: lines from `level`, as a line of text or as "json"."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "not_503": {"()": f"{_LINES}.NotStoreFailures"},
            "without_traceback": {"()": f"{_LINES}.WithoutTraceback"},
            "of_request": {"()": f"{_LINES}.OfRequest"},
        },
        "formatters": {form: _FORMATTERS[form]},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": form, "filters": ["of_request"]},
            "security": {
                "class": "logging.StreamHandler",
                "formatter": form,
                "filters": ["of_request", "without_traceback"],
            },
        },
        "loggers": {
            "django": {"handlers": ["console"], "level": level, "propagate": False},
            "django.request": {
                "handlers": ["console"],
                "level": _at_least("ERROR", level),
                "filters": ["not_503"],
                "propagate": False,
            },
            "django.security": {"handlers": ["security"], "level": _at_least("WARNING", level), "propagate": False},
            # What `runserver` says of each request: retwis.access says more, and no query.
            "django.server": {"handlers": ["console"], "level": "CRITICAL", "propagate": False},
            "retwis": {"handlers": ["console"], "level": level, "propagate": False},
        },
    }


def _at_least(lowest: str, level: str) -> str:
    return max(lowest, level, key=logging.getLevelNamesMapping().__getitem__)
