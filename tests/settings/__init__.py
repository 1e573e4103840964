"""Settings of the runs of the suite."""

import atexit
import shutil
import tempfile


def folder(prefix: str) -> str:
    """A new one, which goes with this process."""
    path = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
