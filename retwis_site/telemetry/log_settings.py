"""The setting LOGGING: who writes which lines, and how."""

from typing import Any

_LINES = "retwis_site.telemetry.log_lines"


def log_settings() -> dict[str, Any]:
    """Python's description of a logging configuration. Settings are not read yet when this is called."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "not_503": {"()": f"{_LINES}.NotStoreFailures"},
            "without_traceback": {"()": f"{_LINES}.WithoutTraceback"},
            "of_request": {"()": f"{_LINES}.OfRequest"},
        },
        "formatters": {
            "line": {
                "()": f"{_LINES}.BoundedLine",
                "format": "{asctime} {levelname} {name}{of_request}: {message}",
                "style": "{",
            }
        },
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["of_request"]},
            "security": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["of_request", "without_traceback"],
            },
        },
        "loggers": {
            "django": {"handlers": ["console"], "level": "INFO", "propagate": False},
            "django.request": {"handlers": ["console"], "level": "ERROR", "filters": ["not_503"], "propagate": False},
            "django.security": {"handlers": ["security"], "level": "WARNING", "propagate": False},
            "retwis": {"handlers": ["console"], "level": "INFO", "propagate": False},
        },
    }
