"""Which texts somebody can see. A text that nobody can see counts as empty, in every form and every command."""

import regex

# Not seen: controls, formats, spaces, unassigned and private characters; what Unicode ignores where no font has it,
# such as variation selectors and Hangul fillers; the empty Braille pattern. Seen: a mark alone, which browsers
# draw on a dotted circle, and emoji that are newer than these tables. retwis.js has the same pattern.
SEEN = r"(?![\p{DI}\u2800])[\p{L}\p{M}\p{N}\p{P}\p{S}\p{ExtPict}]"
_seen = regex.compile(SEEN).search


def is_visible(text: str) -> bool:
    """Whether a reader sees anything of a text."""
    return _seen(text) is not None
