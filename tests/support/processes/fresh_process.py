"""Run code in a fresh process with other settings."""

import os
import subprocess
import sys

from django.conf import settings


def in_a_process(code: str, **env: str) -> str:
    """The output of code that runs in a fresh process with this environment."""
    script = f"import django; django.setup(); from django.conf import settings; from django.test import Client\n{code}"
    answer = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "retwis_site.settings",
            "VAR_DIR": str(settings.VAR_DIR),
            "REDIS_URL": "redis://127.0.0.1:1",
            **env,
        },
    )
    return answer.stdout.strip()
