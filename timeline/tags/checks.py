"""Checks of tags: each has a spelling and can be found. `ListingChecks` compare their listings with the posts."""

from functools import partial

from retwis_site.maintenance.checks import Check, check_of, looking, names_alone, names_in
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Result
from timeline.posts.links import folded, in_index, tags_in


class TagChecks:
    """Searches the tags. A repair relies on the checks of posts, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        check = partial(check_of, self._store)
        return [
            check(
                "tags without a spelling",
                keys.tag,
                looking(self._store, _ask_unspelled),
                "{0} has no spelling",
                self._spell,
                read=names_alone,
            ),
            check(
                "tags missing from tags_by_name",
                keys.tags,
                looking(self._store, _ask_unfound),
                "tags_by_name lacks {0!r}",
                lambda tag: self._store.zadd(keys.tags_by_name(), {in_index(tag): 0}),
                read=names_in,
                after=True,
            ),
            check(
                "entries of tags_by_name that are no tag",
                keys.tags_by_name,
                looking(self._store, _ask_stray),
                "tags_by_name has {0!r}",
            ),
        ]

    def _spell(self, key: str) -> None:
        """The spelling of the oldest post with the tag."""
        tag = _tag_of(key)
        first = [pid for member in self._store.zrange(key, 0, 0) if (pid := parse_id(member))]
        bodies = [self._store.hget(keys.post(pid), "body") for pid in first]
        spellings = [tags_in(body).get(tag, tag) for body in bodies if body]
        self._store.hsetnx(keys.tags(), tag, (spellings or [tag])[0])


def _tag_of(key: str) -> str:
    return key.removeprefix(keys.tag(""))


def _ask_unspelled(pipe: Pipe, key: str) -> Result[bool]:
    """Whether a tag has posts, but no spelling. Posts are listed in the round trip that writes it."""
    spelled, posts = pipe.hexists(keys.tags(), _tag_of(key)), pipe.zcard(key)
    return Result(lambda: posts.value > 0 and not spelled.value)


def _ask_unfound(pipe: Pipe, tag: str) -> Result[bool]:
    """Whether no beginning finds a tag, or only by a wrong score: the index is in the order of its bytes only while all
    scores are equal."""
    score = pipe.zscore(keys.tags_by_name(), in_index(tag))
    return Result(lambda: score.value != 0)


def _ask_stray(pipe: Pipe, member: str) -> Result[bool]:
    """Whether an entry of the index has no spelling. The check before has given one to each tag with posts."""
    tag = folded(member)
    known = pipe.hexists(keys.tags(), tag)
    return Result(lambda: not known.value or in_index(tag) != member)
