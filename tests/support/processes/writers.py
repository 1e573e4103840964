"""People who write while something happens to the servers."""

import threading
from dataclasses import dataclass, field

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.people import register
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows


@dataclass
class Author:
    """Somebody who posts one text after the other, and sends each again, with its token, until it is acknowledged."""

    uid: int
    acknowledged: list = field(default_factory=list)
    failures: int = 0
    trouble: BaseException | None = None

    def write(self, stop):
        try:
            while not stop.is_set():
                self.post(f"{self.uid}-{len(self.acknowledged)}")
        except BaseException as error:
            self.trouble = error

    def post(self, text):
        while True:
            try:
                Posts(connect()).publish(self.uid, text, text)
                self.acknowledged.append(text)
                return
            except StoreError:
                self.failures += 1


class Load:
    """A few authors who follow each other; `with Load(4) as load:` has them write until the block ends."""

    def __init__(self, authors):
        self.authors = [Author(register(connect(), f"author_{number}").user.uid) for number in range(authors)]
        for one in self.authors:
            for other in self.authors:
                if one is not other:
                    Follows(connect()).follow(one.uid, other.uid)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=author.write, args=(self._stop,)) for author in self.authors]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert [author.trouble for author in self.authors if author.trouble] == []

    def written(self):
        return sum(len(author.acknowledged) for author in self.authors)

    def failures(self):
        return sum(author.failures for author in self.authors)

    def is_all_there(self, raw):
        """Every acknowledged text once, in its author's order."""
        for author in self.authors:
            texts = [raw.hget(f"post:{pid}", "body") for pid in raw.zrange(f"updates:{author.uid}", 0, -1)]
            assert texts == author.acknowledged
