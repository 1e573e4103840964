"""`manage.py collectstatic`: Django's command, which ends with one line where it may not write."""

import errno
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.management.commands.collectstatic import Command as CollectStatic
from django.core.management.base import CommandError


class Command(CollectStatic):
    def handle(self, **options: Any) -> str | None:
        try:
            return super().handle(**options)
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ENOSPC):  # perhaps of the output: `command_line.py` ends it
                raise
            fix = "Set STATIC_DIR to a folder that the site may write."
            raise CommandError(
                f"The static files cannot be put into {settings.STATIC_ROOT}: {error.strerror}. {fix}"
            ) from error
