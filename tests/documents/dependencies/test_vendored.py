"""docs/vendored.md: each file of a third party is as it was published, and no other is in the tree."""

import hashlib
import re
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
ROWS = re.findall(r"^\| `([^`]+)` \| .* \| `([0-9a-f]{64})` \|$", (ROOT / "docs/vendored.md").read_text(), re.MULTILINE)
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


def test_each_vendored_file_is_as_it_was_published():
    assert ROWS
    for name, checksum in ROWS:
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == checksum, name


def test_every_file_of_a_third_party_is_listed():
    assert {str(path.relative_to(ROOT)) for path in shipped() if is_foreign(path)} == {name for name, _ in ROWS}
