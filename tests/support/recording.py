"""A recording of what all threads and tasks of the process send to the store."""

from collections.abc import Iterator
from contextlib import contextmanager

from retwis_site.store.connection.recorder import Recording, of_the_process


@contextmanager
def recording_process() -> Iterator[Recording]:
    recorded = Recording()
    of_the_process.append(recorded)
    try:
        yield recorded
    finally:
        of_the_process.remove(recorded)
