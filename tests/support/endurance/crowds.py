"""People in threads, each of whom does one thing after the other."""

import threading
import traceback
from contextlib import contextmanager, suppress

from tests.support.endurance.deeds import DEEDS, OF_STAFF
from tests.support.endurance.person import STAFF, Crowd, Person

TROUBLED = 2  # people against whom staff may act: those after staff


class Running:
    """A crowd at work. `people` register before anything else happens."""

    def __init__(self, crowd: Crowd, number: int):
        self.crowd = crowd
        self.people = [Person(one, crowd, is_troubled=STAFF <= one < STAFF + TROUBLED) for one in range(number)]
        crowd.troubled += [one.name for one in self.people if one.is_troubled]
        self._may_go = threading.Event()
        self._resting = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._live, args=(person,), daemon=True) for person in self.people]

    def register(self):
        for person in self.people:
            person.register()

    def begin(self):
        self._may_go.set()
        for thread in self._threads:
            thread.start()

    @contextmanager
    def rest(self):
        """For the time of the block, nobody does anything."""
        self._may_go.clear()
        for _ in self.people:
            assert self._resting.acquire(timeout=240), f"somebody does not come to an end: {self.errors}"
        yield
        self._may_go.set()

    def end(self):
        """Let each person end what they do."""
        self.crowd.stop.set()
        self._may_go.set()
        for thread in self._threads:
            thread.join(240)
            assert not thread.is_alive()

    @property
    def errors(self):
        return [error for person in self.people for error in person.errors]

    def _live(self, person):
        deeds = OF_STAFF if person.is_staff else DEEDS
        while not self.crowd.stop.is_set():
            if not self._may_go.is_set():
                self._resting.release()
                self._may_go.wait()
                continue
            [deed] = person.random.choices(list(deeds), deeds.values())
            try:
                deed(person)
                self.crowd.deeds[deed.__name__] += 1
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[1]
                person.errors.append(f"{person.name}, {deed.__name__}, line {place.lineno}: {error!r}")
                with suppress(AssertionError):  # go on: other errors may follow from this one, or be others
                    person.sign_in()
