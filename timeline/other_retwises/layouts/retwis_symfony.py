"""retwis-symfony. It is the one Retwis with likes. Its passwords are PHP's own hashes."""

from collections.abc import Iterator, Sequence

from retwis_site.store.ids import parse_id
from timeline.other_retwises.dates import unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.passwords import php_hash
from timeline.other_retwises.source import Source, ask_sorted_set, edges, has_text, numbers, ranges

USER_FIELDS = ["username", "password", "registered", "name", "bio"]


class RetwisSymfony:
    """`user:<id>` and `post:<id>` are hashes; follows and likes are sorted sets with their times."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def accounts(self) -> Iterator[list[Account]]:
        for uids in numbers(self._source, "user:"):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.hmget(f"user:{uid}", USER_FIELDS)) for uid in uids]
            pipe.execute()
            yield [
                Account(uid, username or "", php_hash(password), unix_seconds(registered), name or "", bio or "")
                for uid, fields in asked
                for username, password, registered, name, bio in [fields.value]
            ]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"following:{uid}", uids, ask_sorted_set)

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(numbers(self._source, "post:")):
            pipe = self._source.pipeline()
            asked = [(pid, pipe.hmget(f"post:{pid}", ["author", "published", "message"])) for pid in pids]
            pipe.execute()
            yield [
                SourcePost(pid, parse_id(author or ""), unix_seconds(published), text)
                for pid, fields in asked
                for author, published, text in [fields.value]
                if has_text(text, [author, published], self._source, pid)
            ]

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"user:likes:{uid}", uids, ask_sorted_set)
