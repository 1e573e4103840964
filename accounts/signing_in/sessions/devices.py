"""What a login was made with, from the User-Agent header: "Firefox on Linux".

Only names of these tables are stored, so a hostile header can bring nothing into the store.
"""

from typing import NamedTuple

LONGEST_READ = 500  # characters of a header
# Parts of the header, with what they stand for. The first that is found wins: most browsers also name older ones.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Vivaldi/": "Vivaldi",
    "YaBrowser/": "Yandex Browser",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Chromium/": "Chrome",
    "Safari/": "Safari",
    "Lynx/": "Lynx",
    "w3m/": "w3m",
    "curl/": "curl",
}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Macintosh": "macOS",
    "FreeBSD": "FreeBSD",
    "OpenBSD": "OpenBSD",
    "Linux": "Linux",
}


class Device(NamedTuple):
    """A browser and its system by name; empty where they are not known."""

    browser: str = ""
    system: str = ""


def device_of(user_agent: str) -> Device:
    read = user_agent[:LONGEST_READ]
    return Device(_first(BROWSERS, read), _first(SYSTEMS, read))


def _first(names: dict[str, str], text: str) -> str:
    return next((name for part, name in names.items() if part in text), "")
