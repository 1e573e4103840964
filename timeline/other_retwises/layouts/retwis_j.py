"""Retwis-J, the example of Spring Data Redis. It is the one Retwis with replies."""

from collections.abc import Iterator, Sequence

from retwis_site.store.ids import parse_id
from timeline.other_retwises.dates import unix_seconds
from timeline.other_retwises.entities import Account, Edge, ReplyTo, SourcePost
from timeline.other_retwises.passwords import clear_text
from timeline.other_retwises.source import Source, ask_set, edges, has_text, numbers, ranges

MOST_STEPS = 100  # from a reply up to a post whose thread is known
ROOTS_KEPT = 20_000  # posts whose thread is known; the oldest are forgotten first

ABSENT = "null"  # what Java writes for a missing reference


class RetwisJ:
    """`uid:<uid>` and `pid:<pid>` are hashes; follows are sets."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._problems = source.problems
        self._roots: dict[int, int] = {}  # reply -> the first post of its thread

    def accounts(self) -> Iterator[list[Account]]:
        for uids in numbers(self._source, "uid:"):
            pipe = self._source.pipeline()
            asked = [(uid, pipe.hmget(f"uid:{uid}", ["name", "pass"])) for uid in uids]
            pipe.execute()
            yield [
                Account(uid, name or "", clear_text(password))
                for uid, fields in asked
                for name, password in [fields.value]
            ]

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return edges(self._source, lambda uid: f"uid:{uid}:following", uids, ask_set)

    def posts(self) -> Iterator[list[SourcePost]]:
        for pids in ranges(numbers(self._source, "pid:")):
            pipe = self._source.pipeline()
            asked = [(pid, pipe.hmget(f"pid:{pid}", ["content", "uid", "time", "replyPid"])) for pid in pids]
            pipe.execute()
            parents = {pid: fields.value[3] for pid, fields in asked if fields.value[0] is not None}
            replies = self._replies({pid: parent for pid, parent in parents.items() if parent and parent != ABSENT})
            yield [
                SourcePost(pid, parse_id(author or ""), unix_seconds(time), text, replies.get(pid))
                for pid, fields in asked
                for text, author, time, parent in [fields.value]
                if has_text(text, [author, time, parent], self._source, pid)
            ]

    # ---- replies

    def _replies(self, parents: dict[int, str]) -> dict[int, ReplyTo]:
        """What each reply answers. Replies to posts that are not imported become plain posts."""
        answered = {pid: parent for pid, text in parents.items() if (parent := parse_id(text or "")) and parent < pid}
        authors = self._authors(sorted(set(answered.values())))
        people = self._people(set(authors.values()))
        replies = {}
        for pid in parents:
            parent = answered.get(pid, 0)
            author = authors.get(parent)
            if author is None:
                self._problems.note("replies to posts that do not exist", f"post {pid}")
            elif author not in people:
                self._problems.note("replies to posts without a known author", f"post {pid}")
            else:
                replies[pid] = ReplyTo(parent, self._root(pid, parent), author)
        return replies

    def _authors(self, pids: Sequence[int]) -> dict[int, int]:
        pipe = self._source.pipeline()
        asked = [(pid, pipe.hmget(f"pid:{pid}", ["uid", "content"])) for pid in pids]
        pipe.execute()
        found = [
            (pid, parse_id(uid or "")) for pid, fields in asked for uid, text in [fields.value] if text is not None
        ]
        return {pid: uid for pid, uid in found if uid is not None}

    def _people(self, uids: set[int]) -> set[int]:
        """Those of them who are imported."""
        pipe = self._source.pipeline()
        names = {uid: pipe.hget(f"uid:{uid}", "name") for uid in uids}
        pipe.execute()
        return {uid for uid, name in names.items() if name.value}

    def _root(self, pid: int, parent: int) -> int:
        """The first post of the thread. Posts come by ascending id, so the thread of the parent is mostly known."""
        root = self._roots.get(parent)
        if root is None:
            root = self._climb(parent)
        self._roots[pid] = root
        if len(self._roots) > ROOTS_KEPT:
            del self._roots[next(iter(self._roots))]
        return root

    def _climb(self, pid: int) -> int:
        """The last post on the way up that is imported. An answered post has a lower id, so the way ends."""
        for _ in range(MOST_STEPS):
            if pid in self._roots:
                return self._roots[pid]
            parent = parse_id(self._source.hget(f"pid:{pid}", "replyPid") or "")
            if parent is None or parent >= pid or not self._people(set(self._authors([parent]).values())):
                return pid
            pid = parent
        self._problems.note("threads that are cut: too many replies to replies", f"post {pid}")
        return pid

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        return iter(())
