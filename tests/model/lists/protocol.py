"""The protocol of a cached list, as generators of commands: `retwis_site/store/cached_list.py` follows it.

The list of one user, who follows the authors in `following`. The entries are read by the site's own parser.
"""

from collections.abc import Callable

from retwis_site.store import cached_list
from retwis_site.store.cached_list import PADDING, ListContent, Merge, Slice, merge
from tests.model.core import Steps

LIST, FOLLOWING = "posts:1", "following:1"
# The sizes of a list, small enough that a few posts are more than a first page reads, and cut the list. As at the site,
# more entries are read than ids are trusted: by more than there are late posts, tokens and labels.
SIZES = {
    "KEPT": 14,
    "CUT_ABOVE": 15,
    "MAYBE_CUT_FROM": 13,
    "TRUSTED": 6,
    "MOST_PADDING": 1,
    "FIRST_READ": 9,
    "FIRST_TRUSTED": 2,
}


def updates(author: int) -> str:
    return f"updates:{author}"


def parse_head(entries: tuple[str, ...]) -> ListContent:
    return cached_list.parse_head(LIST, entries[: cached_list.FIRST_READ + 1])


def parse_whole(entries: tuple[str, ...]) -> ListContent:
    return cached_list.parse_whole(LIST, entries)


class ListProtocol:
    """Each method is a generator of commands."""

    def publish(self, author: int, pid: int) -> Steps:
        yield ("ZADD", updates(author), pid, pid)
        yield from self.push(pid)

    def push(self, pid: int) -> Steps:
        length = yield ("LPUSHX", LIST, str(pid))
        if length > cached_list.CUT_ABOVE:
            yield ("LTRIM", LIST, 0, cached_list.KEPT - 1)

    def follow(self, author: int) -> Steps:
        yield ("ZADD", FOLLOWING, author, 1)
        yield ("UNLINK", LIST)

    def remove_dead(self, author: int, pid: int) -> Steps:
        """The deletion of a post, and a reader that meets it."""
        yield ("ZREM", updates(author), pid)
        yield ("RPUSHX", LIST, PADDING)
        yield ("LREM", LIST, str(pid))

    def read(self, name: str, parse: Callable[[tuple[str, ...]], ListContent]) -> Steps:
        """A page. It rebuilds a list that is not complete."""
        stale = yield ("LRANGE", LIST, 0, -1)
        if not parse(stale).complete:
            yield from self.rebuild(name, stale)

    def rebuild(self, name: str, stale: tuple[str, ...]) -> Steps:
        for attempt in range(cached_list.REBUILD_TRIES):
            token = f"b{name}{attempt}"
            if stale:
                yield ("UNLINK", LIST)
            yield ("RPUSH", LIST, token)
            merged = yield from self.sources()
            finished = yield from self.finish(token, merged)
            if finished:
                return
            stale = ()

    def sources(self) -> Steps:
        followed = yield ("ZRANGE", FOLLOWING)
        slices = []
        for author, _ in followed:
            pairs = yield ("ZRANGE", updates(author))
            slices.append(Slice([pid for pid, _ in pairs[::-1]][: cached_list.KEPT], len(pairs) > cached_list.KEPT))
        return merge(slices, cached_list.KEPT)

    def pushed(self, token: str, merged: Merge) -> list[str]:
        return [f"{token}:", *map(str, merged.ids)]

    def finish(self, token: str, merged: Merge) -> Steps:
        yield ("RPUSHX", LIST, *self.pushed(token, merged))
        place = yield ("LINSERT", LIST, token, str(-merged.complete_down_to))
        return place > 0


class WithoutLabels(ListProtocol):
    """An early draft: no label says which rebuild has pushed the ids."""

    def pushed(self, token: str, merged: Merge) -> list[str]:
        return [*map(str, merged.ids)]


class DroppedByTheLate(WithoutLabels):
    """An early draft: who has pushed ids into another rebuild's list drops it, if they live that long."""

    def finish(self, token: str, merged: Merge) -> Steps:
        finished = yield from super().finish(token, merged)
        if not finished:
            yield ("UNLINK", LIST)
        return finished
