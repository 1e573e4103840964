"""What the page of explore shows."""

from dataclasses import dataclass

from timeline.people.entities import Suggested
from timeline.posts.entities import Post
from timeline.tags.entities import Tag


@dataclass(frozen=True, slots=True)
class TagOfTheWeek:
    """A tag that more people use this week than usual."""

    tag: Tag
    people: int  # different people who used it this week
    all_counted: bool  # False: there may be more people
    posts: int  # of this week


@dataclass(frozen=True, slots=True)
class Best:
    """The posts of the last day or, on a quiet site, of the last week, the best first."""

    pids: tuple[int, ...]
    of_the_week: bool


@dataclass(frozen=True, slots=True)
class Explored:
    """What is the same for every viewer."""

    best: Best
    tags: tuple[TagOfTheWeek, ...]


@dataclass(frozen=True, slots=True)
class ExplorePage:
    posts: list[Post]  # the best first
    of_the_week: bool  # the posts are of the last week, not of the last day
    tags: tuple[TagOfTheWeek, ...]  # the one that rises most first
    people: list[Suggested]
