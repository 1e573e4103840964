"""Run code in a fresh process with other settings.

A process that does little spends most of its time on imports of Django, redis-py and other packages. So one process
imports them, once, and is forked for each call. It never imports the site: each call reads the settings anew."""

import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

PACKAGES = [
    "argon2",
    "authlib.integrations.django_oauth2",
    "django",
    "django.contrib.auth.hashers",
    "django.contrib.auth.password_validation",
    "django.contrib.messages.storage.cookie",
    "django.contrib.sitemaps.views",
    "django.contrib.staticfiles.checks",
    "django.core.management",
    "django.core.management.commands.check",
    "django.core.serializers.json",
    "django.forms",
    "django.test",
    "django.template.defaulttags",
    "django.utils.translation.reloader",
    "django.utils.feedgenerator",
    "django.views.debug",
    "django.views.generic",
    "django.views.i18n",
    "django_redis",
    "dotenv",
    "idna",
    "markdown_it",
    "precis_i18n",
    "pyotp",
    "pythonjsonlogger.json",
    "redis.asyncio",
    "redis.cluster",
    "redis.sentinel",
    "regex",
    "rich.progress",
    "segno",
    "Stemmer",
    "webauthn",
    "whitenoise.middleware",
    __name__,
]
PATIENT = "tests.support.processes.patient_settings"
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(PACKAGES)


def in_a_process(code: str, **env: str) -> str:
    """The output of code that runs in a fresh process with this environment. An error of the code is a
    `CalledProcessError`, which has the traceback."""
    script = f"import django; django.setup(); from django.conf import settings; from django.test import Client\n{code}"
    ended = run_code(
        script,
        {
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": PATIENT,
            "VAR_DIR": str(settings.VAR_DIR),
            "REDIS_URL": "redis://127.0.0.1:1",
            **env,
        },
    )
    ended.check_returncode()
    return ended.stdout.strip()


def run_code(
    code: str, env: Mapping[str, str], input: str = "", arguments: tuple[str, ...] = ("-c",), seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run the code in a fresh process with exactly this environment, as `python -c` would, and wait until it ends."""
    if "LD_PRELOAD" in env:  # only a program that starts loads it
        named = f"import sys; sys.argv[0] = {arguments[0]!r}\n{code}"
        command = [sys.executable, "-c", named, *arguments[1:]]
        return subprocess.run(
            command, env=env, input=input, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=seconds
        )
    with tempfile.TemporaryDirectory(prefix="retwis-process-") as name:
        folder = Path(name)
        (folder / "in").write_text(input)
        process = _forks.Process(target=_run, args=(code, dict(env), arguments, folder, str(settings.BASE_DIR)))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
        printed, errors = ((folder / name).read_text() for name in ("out", "err"))
        return subprocess.CompletedProcess(arguments, process.exitcode, printed, errors)


def _run(code: str, env: dict[str, str], arguments: tuple[str, ...], folder: Path, base: str) -> None:
    for descriptor, name, how in ((0, "in", os.O_RDONLY), (1, "out", os.O_WRONLY), (2, "err", os.O_WRONLY)):
        os.dup2(os.open(folder / name, how | os.O_CREAT), descriptor)
    sys.stdin = os.fdopen(0)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(base)
    sys.argv = list(arguments)
    sys.path[:0] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    loaded = [name for name in sys.modules if name.partition(".")[0] in {"retwis_site", "accounts", "timeline"}]
    assert not loaded, f"imported before the fork: {loaded}"
    gc.freeze()  # else Python looks through the packages again and again
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
