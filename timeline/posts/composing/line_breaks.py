"""The line breaks of a typed text."""

import re
import unicodedata

_more_than_two = re.compile("\n{3,}")


def normalised(text: str) -> str:
    """The text with `\\n` for each kind of line break, at most two in a row. Spaces at the ends of lines go, and so do
    lines of spaces and invisible characters alone. Empty when the text has nothing visible."""
    lines = (line.rstrip() if _is_visible(line) else "" for line in text.splitlines())
    return _more_than_two.sub("\n\n", "\n".join(lines)).strip()


def _is_visible(text: str) -> bool:
    return any(unicodedata.category(char)[0] not in "CZ" for char in text)
