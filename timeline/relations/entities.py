"""Numbers of follows and of shared users."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FollowCounts:
    following: int
    followers: int


@dataclass(frozen=True, slots=True)
class InCommon:
    """The number of users that two sets share: exact up to a limit, beyond it a lower bound (`10000+`)."""

    count: int
    exact: bool

    def __str__(self) -> str:
        return str(self.count) if self.exact else f"{self.count}+"
