"""The official PHP of 2009 to 2011, and its dialects: django_retwis, Retwis-w-Predis and retwisn.

They agree on posts and follows, and differ in their lists, which are not read.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from retwis_site.store.chunks import batches
from retwis_site.store.ids import parse_id
from timeline.other_retwises.dates import is_milliseconds, unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.passwords import clear_text
from timeline.other_retwises.source import (
    AT_ONCE,
    Source,
    ask_set,
    edges,
    numbers,
    ranges,
)

NAMED = "username:"
NAME_ENDINGS = (":id", ":uid")  # in the code, and in the article


class Php:
    """One string for each field of a person, and one string `author|time|text` for a post."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._problems = source.problems

    @cached_property
    def _usernames(self) -> dict[int, str]:
        """By uid. From the people, and from the keys of names for people whose own name is gone."""
        found: dict[int, str] = {}
        for ending in NAME_ENDINGS:
            for names in self._source.scan_keys(f"{NAMED}*{ending}", AT_ONCE):
                pipe = self._source.pipeline()
                asked = [(name[len(NAMED) : -len(ending)], pipe.get(name)) for name in names]
                pipe.execute()
                found |= {uid: name for name, reply in asked if (uid := parse_id(reply.value or "")) is not None}
        for uids in numbers(self._source, "uid:", ":username"):
            pipe = self._source.pipeline()
            own = [(uid, pipe.get(f"uid:{uid}:username")) for uid in uids]
            pipe.execute()
            found |= {uid: reply.value for uid, reply in own if reply.value}
        return found

    @cached_property
    def _uids(self) -> dict[str, int]:
        return {name: uid for uid, name in self._usernames.items()}

    def accounts(self) -> Iterator[list[Account]]:
        for uids in batches(sorted(self._usernames), AT_ONCE):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.get(f"uid:{uid}:password")) for uid in uids]
            pipe.execute()
            yield [Account(uid, self._usernames[uid], clear_text(password.value)) for uid, password in asked]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"uid:{uid}:following", uids, ask_set)

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(numbers(self._source, "post:")):
            pipe = self._source.pipeline()
            asked = [(pid, pipe.get(f"post:{pid}")) for pid in pids]
            pipe.execute()
            posts = (self._post(pid, reply.value) for pid, reply in asked if reply.value is not None)
            yield [post for post in posts if post is not None]

    def _post(self, pid: int, stored: str) -> SourcePost | None:
        parts = stored.split("|", 2)  # the text may have further bars
        if len(parts) < 3:
            self._problems.note("posts that are not author|time|text", f"post {pid}")
            return None
        author, time, text = parts
        return SourcePost(pid, self._author(author, time), unix_seconds(time), text)

    def _author(self, author: str, time: str) -> int | None:
        """Retwisn writes names and milliseconds, the others uids and seconds. A name may be a number."""
        by_name, by_id = self._uids.get(author), parse_id(author or "")
        if is_milliseconds(time):
            return by_name if by_name is not None else by_id
        return by_id if by_id in self._usernames else by_name

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())
