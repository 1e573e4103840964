"""The design of "Designing Twitter Clone in Redis". Names are the ids of people, so people get new uids.

Its lists of posts are cut into chunks, and old chunks may be gone. So posts are found by their own keys.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from retwis_site.store.chunks import batches
from timeline.other_retwises.dates import unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.source import (
    AT_ONCE,
    Source,
    ask_set,
    members,
    numbers,
    ranges,
    whole_id,
)

OWNER = "twtr:post_owner:"
NOT_PEOPLE = {"post_owner", "post_id"}
FOLLOWS = ("follows", "following")  # in the article's text, and in its example

_KEY = re.compile(r"twtr:([^:]+):(.+)", re.DOTALL)
_POST = re.compile(r"twtr:([^:]+):post:(\d+)\Z", re.DOTALL | re.ASCII)
_COMPACT = re.compile(r"(\d{9,13}(?:\.\d+)?)\|(.*)", re.DOTALL | re.ASCII)  # timestamp|text


class Twtr:
    """Names in the keys of everything. There are no passwords."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._problems = source.problems
        self._strays: dict[int, str] = {}  # posts without `post_owner` -> the name in their key

    @cached_property
    def _uids(self) -> dict[str, int]:
        """By name, counted in the order of the names."""
        names: set[str] = set()
        for keys in self._source.scan_keys("twtr:*", AT_ONCE):
            names |= {match[1] for key in keys if (match := _KEY.match(key))}
        return {name: uid for uid, name in enumerate(sorted(names - NOT_PEOPLE), 1)}

    @cached_property
    def _names(self) -> dict[int, str]:
        return {uid: name for name, uid in self._uids.items()}

    def accounts(self) -> Iterator[list[Account]]:
        for uids in batches(sorted(self._names), AT_ONCE):
            yield [Account(uid, self._names[uid]) for uid in uids]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        for kind in FOLLOWS:
            for chunk in members(self._source, partial(self._key, kind), uids, ask_set):
                for uid, name, _ in chunk:
                    if name not in self._uids:
                        self._problems.note("follows of unknown people", f"{self._names[uid]} follows {name}")
                yield [Edge(uid, self._uids[name], None) for uid, name, _ in chunk if name in self._uids]

    def _key(self, kind: str, uid: int) -> str:
        return f"twtr:{self._names[uid]}:{kind}"

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(self._all_pids()):
            pipe = self._source.pipeline()
            asked = [(pid, pipe.get(f"{OWNER}{pid}")) for pid in pids]
            pipe.execute()
            owned = [(pid, name) for pid, owner in asked if (name := owner.value or self._strays.get(pid))]
            yield self._read(owned)

    def _all_pids(self) -> Iterator[list[int]]:
        """The ids of all posts, and the strays among them."""
        yield from numbers(self._source, OWNER)
        for keys in self._source.scan_keys("twtr:*:post:*", AT_ONCE):
            found = [(match[1], pid) for key in keys if (match := _POST.match(key)) and (pid := whole_id(match[2]))]
            pipe = self._source.pipeline()
            owners = [pipe.get(f"{OWNER}{pid}") for _, pid in found]
            pipe.execute()
            self._strays |= {pid: name for (name, pid), owner in zip(found, owners, strict=True) if owner.value is None}
            yield [pid for _, pid in found]

    def _read(self, owned: list[tuple[int, str]]) -> list[SourcePost]:
        pipe = self._source.pipeline()
        asked = [
            (pid, name, pipe.get(f"twtr:{name}:post:{pid}"), pipe.get(f"twtr:{name}:post:{pid}:created_at"))
            for pid, name in owned
        ]
        pipe.execute()
        posts = []
        for pid, name, text, created_at in asked:
            if text.value is None:
                self._problems.note("posts whose text is gone", f"post {pid}")
            else:
                posts.append(self._post(pid, name, text.value, created_at.value))
        return posts

    def _post(self, pid: int, name: str, text: str, created_at: str | None) -> SourcePost:
        compact = _COMPACT.match(text) if created_at is None else None
        if compact:
            created_at, text = compact[1], compact[2]
        return SourcePost(pid, self._uids.get(name), unix_seconds(created_at), text)

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())
