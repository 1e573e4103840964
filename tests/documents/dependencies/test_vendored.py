"""No file of a third party is in the tree: what the site ships is its own."""

import re

from django.conf import settings

ROOT = settings.BASE_DIR
WIDEST = 500  # characters of a line that a person writes
FONTS = {".woff", ".woff2", ".ttf", ".otf", ".eot"}


def shipped():
    """The files of the site that are not Python."""
    for folder in ("retwis_site", "accounts", "timeline", "templates"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix not in {".py", ".pyc"}:
                yield path


def is_foreign(path):
    """Whether a file looks like one of a third party: minified, a font, or with another's copyright."""
    if path.suffix in FONTS:
        return True
    if path.suffix in {".png", ".ico"}:
        return False
    text = path.read_text()
    written = path.suffix in {".js", ".css"} and any(len(line) > WIDEST for line in text.splitlines())
    return written or re.search(r"copyright|\(c\) \d{4}|@license", text, re.IGNORECASE) is not None


def test_there_is_no_file_of_a_third_party():
    assert [str(path.relative_to(ROOT)) for path in shipped() if is_foreign(path)] == []
