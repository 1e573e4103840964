"""How much `make bench` measures, and what each of its parts hands over."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Plan:
    """The sizes of a run. `small()` is for trying whether the script still works; its figures say nothing."""

    folder: Path  # for stores, logs and scripts; every part has one of its own
    rounds: int = 5
    seconds: int = 2  # that each run of wrk lasts
    users: int = 1000
    posts: int = 20_000
    follows: int = 40
    viewers: int = 200
    clients: tuple[int, ...] = (16, 100)
    curve: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 100)
    requests: int = 100_000  # of ab
    followers: int = 100_000
    pushes: int = 500_000  # of redis-benchmark
    forms: int = 50  # posts by each of two authors
    following: tuple[int, int] = (10, 1000)
    few_posts: int = 1000
    many_posts: int = 1_000_000
    rebuilds: int = 50
    followed: int = 500  # by whom a home is rebuilt
    homes: int = 2000  # weighed
    accounts: int = 5000  # likewise
    mix_seconds: int = 20


def small(folder: Path, rounds: int, seconds: int) -> Plan:
    return Plan(
        folder,
        rounds,
        seconds,
        posts=10_000,
        viewers=40,
        curve=(1, 8),
        requests=1000,
        followers=5000,
        pushes=50_000,
        forms=5,
        many_posts=50_000,
        rebuilds=5,
        homes=200,
        accounts=500,
        mix_seconds=3,
    )


@dataclass(frozen=True)
class Report:
    """What a part found: figures by their goals' names, a text in Markdown, and files that it shows."""

    text: str
    figures: dict[str, float] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
