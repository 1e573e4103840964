"""Two layouts of the keys: the default, and every hot key split with snowflake ids."""

import itertools

SHARDS = {"TIMELINE_SHARDS": 2, "OUTBOX_SHARDS": 3}


class Counted:
    """The default: ids from counters, one outbox, one list."""

    of = 1
    counts = 1  # round trips of a registration to a counter

    def begin_at(self, number):
        """Nothing to do: the counters are in the store."""

    def make_each_once(self):
        """Nothing to do: a counter does."""

    def newest(self, raw):
        """The highest post id so far."""
        return int(raw.get("next_post_id") or 0)


class Split:
    """Split keys. Every second id is made twice, as by two processes with the same NODE_ID."""

    of = SHARDS["TIMELINE_SHARDS"]
    counts = 0

    def __init__(self):
        self.begin_at(1)

    def begin_at(self, number):
        self._ids = (again for pid in itertools.count(number) for again in [pid] * (1 + pid % 2))

    def make_each_once(self):
        """For reposts that are undone: then their ids are free. Two processes make the same id in the same millisecond,
        so here the second one would claim it long after that."""
        self._ids = (pid for pid, _ in itertools.groupby(self._ids))

    def make(self):
        self._last = next(self._ids)
        return self._last

    def newest(self, raw):
        return self._last
