"""The site with its keys as they are by default, and with every hot key split: ids that are claimed, more lists."""

import itertools

from retwis_site.store import keys

SHARDS = {"TIMELINE_SHARDS": 2, "OUTBOX_SHARDS": 3}


class Counted:
    """Ids come from counters; one outbox, one list."""

    of = 1

    def begin_at(self, number):
        """Counters are in the store."""

    def newest(self, raw):
        """No post has a higher id."""
        return int(raw.get("next_post_id") or 0)


class Split:
    """Ids as two processes of one node make them: every other one twice."""

    of = SHARDS["TIMELINE_SHARDS"]

    def __init__(self):
        self.begin_at(1)

    def begin_at(self, number):
        self._ids = (again for pid in itertools.count(number) for again in [pid] * (1 + pid % 2))

    def make(self):
        self._last = next(self._ids)
        return self._last

    def newest(self, raw):
        return self._last


def noted(raw):
    """Every intent in whatever outbox."""
    return [job for key in keys.outboxes() for job in raw.zrange(key, 0, -1)]


def make_due(raw):
    """An hour passes: every intent is due, and nobody holds a lease."""
    for job in noted(raw):
        raw.zadd(keys.outbox(job), {job: 1})
    for lease in raw.keys("lease:*"):
        raw.delete(lease)
