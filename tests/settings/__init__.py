"""Settings for each run of the test suite."""

import atexit
import os
import shutil
import tempfile

STORE = ("KEY_PREFIX", "TOPOLOGY", "NODES", "SENTINEL_SERVICE", "SENTINEL_USERNAME", "SENTINEL_PASSWORD")
SITE = ("RETWIS_ENV_FILE", "EMBEDDED", "DEBUG", "HTTPS", "THROTTLE", "TRUSTED_PROXIES", "ALLOWED_HOSTS", "INSPECT")
SITE += ("STATIC_DIR",)
for name in (*SITE, *(f"REDIS_{name}" for name in STORE)):
    os.environ.pop(name, None)


def folder(prefix: str, place: str | None = None) -> str:
    """A new temporary folder, where such folders usually are or in this place. Removed when this process ends."""
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
