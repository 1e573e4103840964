"""How many of its random cases a test tries."""

import os

from django.conf import settings


def examples(number: int) -> int:
    """`number` on fakeredis with EXAMPLES=all, as in CI; else a fifth. What varies is the order of the site's own round
    trips: a real server has nothing to say about it, only about the answer to each command."""
    has_all = os.environ.get("EXAMPLES") == "all" and not settings.REAL_SERVER
    return number if has_all else -(-number // 5)
