"""Settings of the runs of the suite."""

import atexit
import os
import shutil
import tempfile

for name in ("DEBUG", "HTTPS", "THROTTLE", "REDIS_KEY_PREFIX", "REDIS_TOPOLOGY", "TRUSTED_PROXIES", "ALLOWED_HOSTS"):
    os.environ.pop(name, None)


def folder(prefix: str) -> str:
    """A new one, which goes with this process."""
    path = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
