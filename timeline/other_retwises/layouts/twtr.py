"""The design of "Designing Twitter Clone in Redis". Names are the ids of people, so people get new uids.

Its lists of posts are cut into chunks, and old chunks may be gone. So posts are found by their own keys.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from retwis_site.store.chunks import batches
from retwis_site.store.ids import parse_id
from timeline.other_retwises.dates import unix_seconds
from timeline.other_retwises.entities import Account, Edge, SourcePost
from timeline.other_retwises.source import (
    AT_ONCE,
    Source,
    ask_set,
    members,
    numbers,
    ranges,
)

OWNER = "twtr:post_owner:"
FOLLOWS = ("follows", "following")  # in the article's text, and in its example
FOLLOWERS = "followers"
RANGES_AT_ONCE = 100  # of posts: the posts without `post_owner` in this many are held together

# A name may have colons. So a key is known by its end.
_LISTS = r"(?:timeline:)?(?:lists|list_next|list:\d+|list:current)|timeline:current"
_KEY = re.compile(
    rf"twtr:(.+?):(?:follows|following|followers|post:\d+(?::created_at)?|{_LISTS})\Z", re.DOTALL | re.ASCII
)
_POST = re.compile(r"twtr:(.+?):post:(\d+)\Z", re.DOTALL | re.ASCII)
_COMPACT = re.compile(  # timestamp|text
    r"(\d{9,13}(?:\.\d+)?|\d{4}-\d\d-\d\d[ T][^|]{1,30})\|(.*)", re.DOTALL | re.ASCII
)


Follow = tuple[str, str]  # the names of the follower and of the followed


class Twtr:
    """Names in the keys of everything. There are no passwords."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._problems = source.problems
        self._with_strays: set[int] = set()  # ranges that have posts without `post_owner`, by their number

    @cached_property
    def _uids(self) -> dict[str, int]:
        """By name, counted in the order of the names."""
        names: set[str] = set()
        for keys in self._source.scan_keys("twtr:*", AT_ONCE):
            names |= {match[1] for key in keys if (match := _KEY.match(key))}
        return {name: uid for uid, name in enumerate(sorted(names), 1)}

    @cached_property
    def _names(self) -> dict[int, str]:
        return {uid: name for name, uid in self._uids.items()}

    def accounts(self) -> Iterator[list[Account]]:
        for uids in batches(sorted(self._names), AT_ONCE):
            yield [Account(uid, self._names[uid]) for uid in uids]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        """Each follow once, also when it is in several of the three sets. One round trip more for each chunk of the
        second and the third set."""
        for done, kind in enumerate(FOLLOWS):
            for chunk in members(self._source, partial(self._key, kind), uids, ask_set):
                yield list(self._edges(self._new(FOLLOWS[:done], [(self._names[uid], name) for uid, name, _ in chunk])))
        for chunk in members(self._source, partial(self._key, FOLLOWERS), uids, ask_set):
            yield list(self._edges(self._new(FOLLOWS, [(name, self._names[uid]) for uid, name, _ in chunk])))

    def _new(self, kinds: Sequence[str], follows: list[Follow]) -> list[Follow]:
        """Those that are in no set of these kinds."""
        pipe = self._source.pipeline()
        asked = [[pipe.send("SISMEMBER", f"twtr:{one}:{kind}", other) for kind in kinds] for one, other in follows]
        pipe.execute()
        return [follow for follow, known in zip(follows, asked, strict=True) if not any(reply.value for reply in known)]

    def _edges(self, follows: list[Follow]) -> Iterator[Edge]:
        for one, other in follows:
            if one in self._uids and other in self._uids:
                yield Edge(self._uids[one], self._uids[other], None)
            else:
                self._problems.note("follows of unknown people", f"{one} follows {other}")

    def _key(self, kind: str, uid: int) -> str:
        return f"twtr:{self._names[uid]}:{kind}"

    def posts(self) -> Iterator[list[SourcePost]]:
        for some in batches(list(ranges(self._all_pids())), RANGES_AT_ONCE):
            strays = self._strays({pids.start // AT_ONCE for pids in some} & self._with_strays)
            for pids in some:
                pipe = self._source.pipeline()
                asked = [(pid, pipe.get(f"{OWNER}{pid}")) for pid in pids]
                pipe.execute()
                yield self._read([(pid, name) for pid, owner in asked if (name := owner.value or strays.get(pid))])

    def _all_pids(self) -> Iterator[list[int]]:
        """The ids of all posts. Afterwards it is known which ranges have strays."""
        yield from numbers(self._source, OWNER)
        for keys in self._source.scan_keys("twtr:*:post:*", AT_ONCE):
            found = [(match[1], pid) for key in keys if (match := _POST.match(key)) and (pid := parse_id(match[2]))]
            pipe = self._source.pipeline()
            owners = [pipe.get(f"{OWNER}{pid}") for _, pid in found]
            pipe.execute()
            strays = [pid for (_, pid), owner in zip(found, owners, strict=True) if not owner.value]
            self._with_strays |= {pid // AT_ONCE for pid in strays}
            yield [pid for _, pid in found]

    def _strays(self, parts: set[int]) -> dict[int, str]:
        """The names in the keys of all posts of these ranges. It reads every key of a post."""
        found = {}
        for keys in self._source.scan_keys("twtr:*:post:*", AT_ONCE) if parts else ():
            for key in keys:
                match = _POST.match(key)
                pid = parse_id(match[2]) if match else None
                if match and pid and pid // AT_ONCE in parts:
                    found[pid] = match[1]
        return found

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
        if compact and unix_seconds(compact[1]) is not None:
            created_at, text = compact[1], compact[2]
        return SourcePost(pid, self._uids.get(name), unix_seconds(created_at), text)

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())
