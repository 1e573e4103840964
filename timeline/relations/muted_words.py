"""Muted words: what they are, as they are stored, and their checks."""

import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from retwis_site.maintenance.checks import Check, Searcher, rows
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reply, Repository, Scored, answer
from retwis_site.store.commands import Question, scored
from retwis_site.store.ids import note_bad
from timeline.language import joined, words
from timeline.relations.edges import Edges
from timeline.relations.relation import Edge
from timeline.relations.relations import FOREVER, MUTE_WORDS

# ---- Muted words: `muted_words:<uid>` is the truth. A member is `<where> <how> <words>`, its score until when it
# lasts.


MOST_MUTED = 100  # of each user; no more are read
LONGEST_MUTED = 100  # characters


class Where(StrEnum):
    """Where words are muted."""

    HOME = "home"
    EVERYWHERE = "everywhere"


class How(StrEnum):
    """What becomes of a post with muted words."""

    HIDE = "hide"
    FOLD = "fold"  # it waits behind a line that names the words


class MutedWord(NamedTuple):
    """A word or a phrase that a user mutes."""

    words: str  # as typed, in one line, without colons: they would end a part of a job's name
    where: Where
    how: How
    until: float  # unix seconds, or FOREVER

    @property
    def member(self) -> str:
        return f"{self.where} {self.how} {self.words}"

    @property
    def compared(self) -> str:
        """Words of which two are the same, such as in small and in capital letters."""
        return joined(words(self.words))


class MutedWords(Repository):
    """The muted words of all users."""

    def of(self, me: int) -> tuple[MutedWord, ...]:
        """What `me` mutes now, as `ask_muted_words`. One round trip."""
        return answer(self._store, ask_muted_words, me)

    def mute(self, me: int, new: MutedWord, present: Iterable[MutedWord]) -> None:
        """Let `me` mute words. Of those that are muted at present, it replaces the same words. Round trips as for
        `Edges.set`, and as many for what it replaces."""
        Edges(self._store, MUTE_WORDS).set(Edge(me, new.member), new.until)
        for old in present:
            if old.member != new.member and old.compared == new.compared:
                self.unmute(me, old)

    def unmute(self, me: int, old: MutedWord) -> None:
        """Let `me` no longer mute words. Round trips as for `Edges.unset`."""
        Edges(self._store, MUTE_WORDS).unset(Edge(me, old.member))


def _muted_words(me: int, replies: Sequence[list[str]]) -> tuple[MutedWord, ...]:
    [found] = replies
    return that_stand(keys.muted_words(me), scored(found)) if found else ()


MUTED_WORDS = Question(("ZREVRANGE", keys.muted_words, 0, MOST_MUTED - 1, "WITHSCORES"), read=_muted_words)


def ask_muted_words(pipe: Pipe, me: int) -> Reply[tuple[MutedWord, ...]]:
    """What `me` mutes now, what lasts longest first; at most MOST_MUTED. One command, of at most 50 KB."""
    return pipe.ask(MUTED_WORDS, me)


def that_stand(key: str, scored: Scored) -> tuple[MutedWord, ...]:
    """The muted words among members with scores that have not ended."""
    now = time.time()
    found = []
    for member, until in scored:
        muted = parse(member, until)
        if muted is None:
            note_bad(key, member)
        elif until > now:
            found.append(muted)
    return tuple(found)


def parse(member: str, until: float = FOREVER) -> MutedWord | None:
    """The words in a member; None for anything else."""
    where, _, rest = member.partition(" ")
    how, _, typed = rest.partition(" ")
    if where not in {*Where} or how not in {*How} or ":" in typed or len(typed) > LONGEST_MUTED or not words(typed):
        return None
    return MutedWord(typed, Where(where), How(how), until)


# ---- Checks: each member names words, and has not ended. Readers skip the others.


WordEntry = tuple[int, str, float]  # the user, the member, its score


class WordChecks(Searcher):
    """Searches the muted words. `UnknownUserChecks` find those of unknown users."""

    def inconsistencies(self) -> list[Check]:
        label = "members of muted_words: that are no words"
        return [self._check_of(label, keys.muted_words, _bad, "{key} has {1!r}", read=rows)]

    def orphans(self) -> list[Check]:
        label, says = "entries of muted_words: that have ended", "{key} has ended words"
        return [self._check_of(label, keys.muted_words, _ended, says, self._remove_ended, read=rows)]

    def _remove_ended(self, uid: int, member: str, _: float) -> None:
        """Remove words, unless they have been muted again meanwhile."""
        until = self._store.zscore(keys.muted_words(uid), member)
        if until is not None and until < time.time():
            self._store.zrem(keys.muted_words(uid), member)


def _bad(found: Sequence[WordEntry]) -> list[WordEntry]:
    return [row for row in found if parse(row[1]) is None]


def _ended(found: Sequence[WordEntry]) -> list[WordEntry]:
    now = time.time()
    return [row for row in found if row[2] < now]
