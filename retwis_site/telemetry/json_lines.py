"""The lines of the log as JSON, with LOG_FORMAT=json: one object a line."""

import logging
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from retwis_site.telemetry.log_lines import bounded


class JsonLine(JsonFormatter):
    """Fields that are known here alone: what a library adds to its record may be a whole request, with its secrets."""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        time = datetime.fromtimestamp(record.created, UTC)
        log_data["timestamp"] = f"{time:%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03d}Z"
        log_data["level"] = record.levelname
        log_data["logger"] = record.name
        log_data["message"] = bounded(record.message)
        request_id = getattr(record, "request_id", "")
        if request_id:
            log_data["request_id"] = request_id
        seen = getattr(record, "seen", None)
        if seen is not None:
            log_data.update(seen.fields())
        if "exc_info" in message_dict:
            log_data["traceback"] = message_dict["exc_info"]

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(map(bounded, str(super().formatException(ei)).split("\n")))
