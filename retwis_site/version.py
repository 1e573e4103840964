"""The version of the site. pyproject.toml takes that of the package from here, so nothing of the site is imported."""

import os
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

# A release writes its number here, such as "0.3.0". The commit after it writes the next one with ".dev".
VERSION = "0.3.0.dev"
SOURCE = Path(__file__).resolve().parent.parent


def of_source() -> str:
    """The version of the code in this folder. Before a release it ends with the UTC time of the last commit, since pip
    leaves an installed package alone when a wheel has the same version. A folder without git's history ends with 0."""
    return VERSION + (_commit_time() or "0") if VERSION.endswith(".dev") else VERSION


def of_site() -> str:
    """The version of the code that runs: in a clone that of its last commit, else that of the installed package."""
    return of_source() if (SOURCE / ".git").exists() else metadata.version("retwis")


of_process = cache(of_site)  # asked for by pages, and the same while the process runs


def _commit_time() -> str:
    """Such as 20261126113403; empty when git or its history is missing. A shallow clone has it too."""
    if not (SOURCE / ".git").exists():  # a folder around it may be a repository of something else
        return ""
    command = ["git", "log", "-1", "--date=format-local:%Y%m%d%H%M%S", "--format=%cd"]
    try:
        answer = subprocess.run(  # noqa: S603
            command, cwd=SOURCE, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
