"""Numbers of follows and of shared users, and what a user hides."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class FollowCounts:
    following: int
    followers: int


class Blocks(NamedTuple):
    """Whether one person blocks another, and the other one them."""

    mine: bool
    theirs: bool


NO_BLOCKS = Blocks(mine=False, theirs=False)


class Hiding(NamedTuple):
    """What a user does not see of another."""

    blocks: Blocks = NO_BLOCKS
    muted: bool = False
    reposts_muted: bool = False


HIDES_NOTHING = Hiding()


@dataclass(frozen=True, slots=True)
class InCommon:
    """The number of users that two sets share: exact up to a limit, beyond it a lower bound (`10000+`)."""

    count: int
    exact: bool

    def __str__(self) -> str:
        return str(self.count) if self.exact else f"{self.count}+"
