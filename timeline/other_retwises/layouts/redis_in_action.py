"""Chapter 8 of Redis in Action. It has no passwords."""

from collections.abc import Iterator, Sequence

from retwis_site.store.ids import parse_id
from timeline.other_retwises.dates import unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.source import Source, ask_sorted_set, edges, has_text, numbers, ranges


class RedisInAction:
    """`user:<id>` and `status:<id>` are hashes; times have a fraction."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def accounts(self) -> Iterator[list[Account]]:
        for uids in numbers(self._source, "user:"):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.hmget(f"user:{uid}", ["login", "name", "signup"])) for uid in uids]
            pipe.execute()
            yield [
                Account(uid, login or "", None, unix_seconds(signup), name or "")
                for uid, fields in asked
                for login, name, signup in [fields.value]
            ]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"following:{uid}", uids, ask_sorted_set)

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(numbers(self._source, "status:")):
            pipe = self._source.pipeline()
            asked = [(pid, pipe.hmget(f"status:{pid}", ["uid", "posted", "message"])) for pid in pids]
            pipe.execute()
            yield [
                SourcePost(pid, parse_id(author or ""), unix_seconds(posted), text)
                for pid, fields in asked
                for author, posted, text in [fields.value]
                if has_text(text, [author, posted], self._source, pid)
            ]

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())
