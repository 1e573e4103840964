"""A clock that tests put in place of `time` in modules of the site."""

from tests.support.people import LONG_AGO


class Clock:
    """Begins at LONG_AGO, and moves only with `sleep`."""

    now = LONG_AGO  # unix seconds

    def time(self):
        return self.now

    monotonic = perf_counter = time

    def sleep(self, seconds):
        self.now += seconds
