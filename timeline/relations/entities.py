"""What two people share."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InCommon:
    """How many people two users share: exact up to a limit, a lower bound beyond."""

    count: int
    exact: bool

    def __str__(self) -> str:
        return str(self.count) if self.exact else f"{self.count}+"
