"""Whom and what a viewer does not see: people whom they block or mute, people who block them, and muted words."""

import time
from collections.abc import Callable
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Answer
from timeline.posts.reading.muted_texts import NO_WORDS, MutedTexts, muted_texts
from timeline.relations.words.muted_words import Where, ask_muted_words

LATEST = 50  # entries of each kind that `LatestHidden` has at most
KINDS = (keys.blocked, keys.blocked_by, keys.muted, keys.muted_reposts)


class LatestHidden(NamedTuple):
    """The muted words, and the people of each of the KINDS that stand first there. A page can ask it before it knows
    whose posts it has, and for nearly all users it is all that the page must know."""

    people: tuple[frozenset[int], ...]  # uids, of each kind; a mute that has ended is not among them
    are_all: tuple[bool, ...]  # of each kind, whether there are no others
    words: MutedTexts = NO_WORDS

    @property
    def blocked(self) -> frozenset[int]:
        """Those with a block between them and the viewer."""
        return self.people[0] | self.people[1]

    @property
    def blocked_or_muted(self) -> frozenset[int]:
        """Those whom lists leave out."""
        return self.blocked | self.people[2]


NO_HIDDEN_READ = LatestHidden((frozenset(),) * len(KINDS), (False,) * len(KINDS))
# For a page on which a viewer has asked for a certain post: blocks hide it, mutes do not.
MUTES_ASIDE = LatestHidden((frozenset(),) * len(KINDS), (False, False, True, True))
NOBODY_HIDDEN = LatestHidden((frozenset(),) * len(KINDS), (True,) * len(KINDS))


def ask_latest_hidden(pipe: Pipe, me: int, where: Where) -> Answer[LatestHidden]:
    """Five commands. `where`: as for `muted_texts`."""
    asked = [pipe.zrevrange_withscores(key(me), 0, LATEST - 1) for key in KINDS]
    words = ask_muted_words(pipe, me)

    def read() -> LatestHidden:
        rows = [reply.value for reply in asked]
        muted = muted_texts(words.value, where)
        if not any(rows) and muted is NO_WORDS:
            return NOBODY_HIDDEN
        people = (
            frozenset(uid for member, score in some if score > _stands_above(key) and (uid := parse_id(member)))
            for key, some in zip(KINDS, rows, strict=True)
        )
        return LatestHidden(tuple(people), tuple(len(some) < LATEST for some in rows), muted)

    return Answer(read)


def _stands_above(key: Callable[[int], str]) -> float:
    """Above which score an entry stands. The score of a block is since when, that of a mute until when."""
    return -1 if key in (keys.blocked, keys.blocked_by) else time.time()


class HiddenPeople:
    """All people whom one viewer does not see, as far as they are asked about."""

    def __init__(self, me: int, latest: LatestHidden) -> None:
        """`latest`: what this request has read. It asks about others only where a user hides more than these."""
        self._me = me
        self._latest = latest
        self._asked = {me}
        self._answers: list[list[Answer[set[int]]]] = [[] for _ in KINDS]

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """At most four commands; none for most users."""
        unknown = [*(people - self._asked)]
        self._asked |= people
        for answers, key, are_all in zip(self._answers, KINDS, self._latest.are_all, strict=True):
            if unknown and not are_all:
                answers.append(_ask_among(pipe, key(self._me), unknown, _stands_above(key)))

    def read(self) -> tuple[set[int], set[int], set[int]]:
        """The people with a block either way, those that are muted, and those whose reposts are."""
        blocked, by, muted, reposts = (
            set(latest).union(*(answer.value for answer in answers))
            for latest, answers in zip(self._latest.people, self._answers, strict=True)
        )
        return blocked | by, muted, reposts


def _ask_among(pipe: Pipe, key: str, people: list[int], after: float) -> Answer[set[int]]:
    """Those of these people with a score above `after`."""
    scores = pipe.zmscore(key, [str(uid) for uid in people])
    return Answer(
        lambda: {uid for uid, score in zip(people, scores.value, strict=True) if score is not None and score > after}
    )
