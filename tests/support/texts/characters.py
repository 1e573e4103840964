"""Unicode's characters by their general category, from one look at each of them."""

import sys
import unicodedata
from collections import defaultdict

EVERY = [*map(chr, range(0xD800)), *map(chr, range(0xE000, sys.maxunicode + 1))]  # without surrogates
_BY_CATEGORY = defaultdict(list)
for _char in EVERY:
    _BY_CATEGORY[unicodedata.category(_char)].append(_char)


def of_categories(*names):
    """All characters of these categories, such as "Ps" or all of "L", in the order of their numbers."""
    return sorted(char for name in _BY_CATEGORY if name.startswith(names) for char in _BY_CATEGORY[name])
