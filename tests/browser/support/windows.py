"""Window sizes, flags of Chromium, and how a window is signed in."""

import shutil
from typing import Any

from django.conf import settings

from tests.support.people import Login

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WITHIN = 60_000  # milliseconds: a step of half a second takes ten on a machine with four other test runs
WIDE = {"width": 1280, "height": 800}
TABLET = {"width": 800, "height": 1000}
PHONE = {"width": 360, "height": 740}
ZOOMED = {"width": 320, "height": 256}  # a window of 1280 by 1024 at 400 %


def find_chromium() -> str | None:
    """The path of Debian's chromium-headless-shell, or else of its chromium. The shell is the same browser without
    a window of its own: it opens a page in a third of the time."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def sign_in(context: Any, login: Login, origin: str) -> None:
    context.add_cookies([{"name": settings.AUTH_COOKIE, "value": login.secret, "url": origin}])
