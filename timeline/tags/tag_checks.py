"""Checks of tags: their listings must agree with the texts of the posts, and each has a spelling and can be found.

`ListingChecks` of posts find the posts that a listing lacks. These find the rest.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed
from retwis_site.store import keys, kinds
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from timeline.posts.checks import at_work_on
from timeline.posts.entities import NO_LINKS
from timeline.posts.links import folded, in_index, tags_in
from timeline.posts.writing.settling import PostLook

Entry = tuple[str, int]  # a folded tag, and the post in its listing


class TagChecks:
    """Searches the tags. A repair relies on the checks of posts, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("entries of tag: that no post explains", self.entries, size),
            Check("tags without a spelling", self.unknown, size),
            Check("tags missing from tags_by_name", self.unfound, lambda: self._store.hlen(keys.tags())),
            Check("entries of tags_by_name that are no tag", self.strays, self._size_of_index),
        ]

    def _size_of_index(self) -> int:
        return self._store.zcard(keys.tags_by_name())

    # ---- the listings

    def entries(self) -> Chunks:
        """Posts in the listing of a tag that they do not have."""
        for tag in self._tags():
            for members in self._store.zset_members(keys.tag(tag), AT_ONCE):
                suspects = self._unexplained([(tag, pid) for member in members if (pid := parse_id(member))])
                yield [
                    Finding(f"{keys.tag(name)} has {pid}", partial(self._store.zrem, keys.tag(name), str(pid)))
                    for name, pid in confirmed(
                        self._store, suspects, lambda one: at_work_on(str(one[1])), self._unexplained
                    )
                ]

    def _unexplained(self, entries: Sequence[Entry]) -> list[Entry]:
        pipe = self._store.pipeline()
        look = PostLook(pipe, dict.fromkeys([pid for _, pid in entries], NO_LINKS))
        present = [(entry, pipe.zscore(keys.tag(entry[0]), str(entry[1]))) for entry in entries]
        pipe.execute()
        seen = look.seen
        return [
            (tag, pid)
            for (tag, pid), score in present
            if score.value is not None and keys.tag(tag) not in seen[pid].stands_in
        ]

    def _tags(self) -> Iterator[str]:
        """The folded tags that have a listing."""
        for names in self._store.scan_keys(kinds.matching("tag:*"), AT_ONCE):
            yield from (name.removeprefix(keys.tag("")) for name in names)

    # ---- the spellings and the index

    def unknown(self) -> Chunks:
        """Tags that have posts, but no spelling. Posts are listed in the round trip that writes it."""
        for names in self._store.scan_keys(kinds.matching("tag:*"), AT_ONCE):
            tags = [name.removeprefix(keys.tag("")) for name in names]
            suspects = confirmed(self._store, self._unspelled(tags), lambda tag: set(), self._unspelled)
            yield [Finding(f"{keys.tag(tag)} has no spelling", partial(self._spell, tag)) for tag in suspects]

    def _unspelled(self, tags: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        asked = [(tag, pipe.hexists(keys.tags(), tag), pipe.zcard(keys.tag(tag))) for tag in tags]
        pipe.execute()
        return [tag for tag, spelled, posts in asked if posts.value and not spelled.value]

    def _spell(self, tag: str) -> None:
        """The spelling of the oldest post with the tag."""
        first = [pid for member in self._store.zrange(keys.tag(tag), 0, 0) if (pid := parse_id(member))]
        bodies = [self._store.hget(keys.post(pid), "body") for pid in first]
        spellings = [tags_in(body).get(tag, tag) for body in bodies if body]
        self._store.hsetnx(keys.tags(), tag, (spellings or [tag])[0])

    def unfound(self) -> Chunks:
        """Tags that no beginning finds, or only by a wrong score: the index is in the order of its bytes only while all
        scores are equal."""
        for fields in self._store.hash_fields(keys.tags(), AT_ONCE):
            yield [
                Finding(
                    f"tags_by_name lacks {tag!r}", partial(self._store.zadd, keys.tags_by_name(), {in_index(tag): 0})
                )
                for tag in self._unfound([tag for tag, _ in fields])
            ]

    def _index(self, tag: str) -> None:
        self._store.zadd(keys.tags_by_name(), {in_index(tag): 0})

    def _unfound(self, tags: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        asked = [(tag, pipe.zscore(keys.tags_by_name(), in_index(tag))) for tag in tags]
        pipe.execute()
        return [tag for tag, score in asked if score.value != 0]

    def strays(self) -> Chunks:
        """Entries of the index without a spelling. The check before has given one to each tag with posts."""
        for members in self._store.zset_members(keys.tags_by_name(), AT_ONCE):
            yield [
                Finding(f"tags_by_name has {member!r}", partial(self._store.zrem, keys.tags_by_name(), member))
                for member in self._strays(members)
            ]

    def _strays(self, members: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        asked = [(member, pipe.hexists(keys.tags(), folded(member))) for member in members]
        pipe.execute()
        return [member for member, known in asked if not known.value or in_index(folded(member)) != member]
