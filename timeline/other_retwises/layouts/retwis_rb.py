"""Retwis-RB, and retwis-py, which has the same keys for other passwords and no times.

The session keys of retwis-py hold pickles. Nothing reads them: a pickle can run any code.
"""

from collections.abc import Iterator, Sequence

from retwis_site.store.client import Pipe
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Result
from timeline.other_retwises.dates import unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.passwords import Password, clear_text, salted_md5
from timeline.other_retwises.source import Source, ask_set, edges, has_text, numbers, ranges

PY_SALT = "retwis"  # before each password of retwis-py


class RetwisRb:
    """One string for each field of a person and of a post."""

    ending = ":salt"  # of a key that each person has

    def __init__(self, source: Source) -> None:
        self._source = source

    def accounts(self) -> Iterator[list[Account]]:
        for uids in numbers(self._source, "user:id:", ":username"):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.get(f"user:id:{uid}:username"), self._ask_password(pipe, uid)) for uid in uids]
            pipe.execute()
            yield [Account(uid, name.value or "", password.value) for uid, name, password in asked]

        yield from self._nameless()

    def _nameless(self) -> Iterator[list[Account]]:
        """People of whom only the password is left."""
        for uids in numbers(self._source, "user:id:", self.ending):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.get(f"user:id:{uid}:username")) for uid in uids]
            pipe.execute()
            yield [Account(uid, "") for uid, name in asked if name.value is None]

    def _ask_password(self, pipe: Pipe, uid: int) -> Result[Password | None]:
        salt, digest = pipe.get(f"user:id:{uid}:salt"), pipe.get(f"user:id:{uid}:hashed_password")
        return Result(lambda: salted_md5(salt.value, digest.value))

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"user:id:{uid}:followees", uids, ask_set)

    def _pids(self) -> Iterator[list[int]]:
        yield from numbers(self._source, "post:id:", ":content")
        yield from numbers(self._source, "post:id:", ":user_id")

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(self._pids()):
            pipe = self._source.pipeline()
            texts = [pipe.get(f"post:id:{pid}:content") for pid in pids]
            authors = [pipe.get(f"post:id:{pid}:user_id") for pid in pids]
            times = [pipe.get(f"post:id:{pid}:created_at") for pid in pids]
            pipe.execute()
            yield [
                SourcePost(pid, parse_id(author.value or ""), unix_seconds(time.value), text.value)
                for pid, text, author, time in zip(pids, texts, authors, times, strict=True)
                if has_text(text.value, [author.value, time.value], self._source, pid)
            ]

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())


class RetwisPy(RetwisRb):
    """Its passwords are clear text after a fixed word."""

    ending = ":password"

    def _ask_password(self, pipe: Pipe, uid: int) -> Result[Password | None]:
        stored = pipe.get(f"user:id:{uid}:password")
        return Result(lambda: _without_salt(stored.value))


def _without_salt(stored: str | None) -> Password | None:
    return clear_text(stored.removeprefix(PY_SALT)) if stored and stored.startswith(PY_SALT) else None
