"""Authors that post while a test disturbs the servers."""

import threading
from dataclasses import dataclass, field

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.people import register
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows


@dataclass
class Author:
    """Posts one text after the other. Each is sent again with its token until it is acknowledged."""

    uid: int
    acknowledged: list = field(default_factory=list)
    failures: int = 0
    error: BaseException | None = None

    def write(self, stop):
        try:
            while not stop.is_set():
                self.post(f"{self.uid}-{len(self.acknowledged)}")
        except BaseException as error:
            self.error = error

    def post(self, text):
        while True:
            try:
                Posts(connect()).publish(self.uid, NewPost(text), text)
                self.acknowledged.append(text)
                return
            except StoreError:
                self.failures += 1


class Load:
    """Authors that follow each other. With `with Load(4) as load:`, four authors post until the block ends."""

    def __init__(self, authors):
        self.authors = [Author(register(connect(), f"author_{number}").user.uid) for number in range(authors)]
        for author in self.authors:
            for other in self.authors:
                if author is not other:
                    Follows(connect()).follow(author.uid, other.uid)
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
        assert [author.error for author in self.authors if author.error] == []

    def written(self):
        return sum(len(author.acknowledged) for author in self.authors)

    def failures(self):
        return sum(author.failures for author in self.authors)

    def is_all_there(self, raw):
        """Assert that every author has the acknowledged posts once, in order."""
        for author in self.authors:
            texts = [raw.hget(f"post:{pid}", "body") for pid in raw.zrange(f"updates:{author.uid}", 0, -1)]
            assert texts == author.acknowledged
