"""The official PHP of 2014: the layout that this site's own is built on."""

from collections.abc import Iterator, Sequence

from retwis_site.store.ids import parse_id
from timeline.other_retwises.dates import seconds_of, unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.passwords import clear_text_or_hash
from timeline.other_retwises.source import Source, ask_sorted_set, edges, has_text, numbers, ranges


class Official:
    """`user:<uid>` and `post:<pid>` are hashes; follows are sorted sets with their times."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def accounts(self) -> Iterator[list[Account]]:
        for uids in numbers(self._source, "user:"):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.hmget(f"user:{uid}", ["username", "password"])) for uid in uids]
            pipe.execute()
            times = [pipe.zscore("users_by_time", fields.value[0] or "") for _, fields in asked]
            pipe.execute()
            yield [
                Account(uid, name or "", clear_text_or_hash(password), seconds_of(time.value))
                for (uid, fields), time in zip(asked, times, strict=True)
                for name, password in [fields.value]
            ]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"following:{uid}", uids, ask_sorted_set)

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(numbers(self._source, "post:")):
            pipe = self._source.pipeline()
            asked = [(pid, pipe.hmget(f"post:{pid}", ["user_id", "time", "body"])) for pid in pids]
            pipe.execute()
            yield [
                SourcePost(pid, parse_id(author or ""), unix_seconds(time), text)
                for pid, fields in asked
                for author, time, text in [fields.value]
                if has_text(text, [author, time], self._source, pid)
            ]

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())
