"""Settings of the runs of the suite."""

import atexit
import os
import shutil
import tempfile

STORE = ("KEY_PREFIX", "TOPOLOGY", "NODES", "SENTINEL_SERVICE", "SENTINEL_USERNAME", "SENTINEL_PASSWORD")
for name in ("DEBUG", "HTTPS", "THROTTLE", "TRUSTED_PROXIES", "ALLOWED_HOSTS", *(f"REDIS_{name}" for name in STORE)):
    os.environ.pop(name, None)


def folder(prefix: str) -> str:
    """A new one, which goes with this process."""
    path = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
