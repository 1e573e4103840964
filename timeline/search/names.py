"""The people and the tags whose names a query may mean. They stand above the posts.

They are asked for in the round trips of the search: who may be meant in the first, what the page shows in the next.
"""

from typing import NamedTuple

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Result
from timeline.people.directory import Candidates, ask_candidates, search_query
from timeline.people.lists import ListedPerson
from timeline.search.queries.parsing import OneWord, Query, WithTag
from timeline.tags.tags import NamedTags, UsedTag, ask_named_tags

MOST_PEOPLE = 3


class Names(NamedTuple):
    people: list[ListedPerson]  # at most MOST_PEOPLE
    more_people: bool
    tags: list[UsedTag]


class Meant(NamedTuple):
    """The people and tags that a query may mean; None where it can mean none."""

    people: Candidates | None
    tags: NamedTags | None

    def ask(self, pipe: Pipe, me: int | None) -> Result[Names]:
        """What the page shows of them. Commands as for `Candidates` and `NamedTags`."""
        found = self.people.ask(pipe, me) if self.people else None
        used = self.tags.ask(pipe) if self.tags else None

        def read() -> Names:
            people, more = (found.value.people, found.value.more) if found else ([], False)
            return Names(people[:MOST_PEOPLE], more or len(people) > MOST_PEOPLE, used.value if used else [])

        return Result(read)


def ask_meant(typed: str, query: Query, pipe: Pipe) -> Result[Meant]:
    """The people whom a query of words alone may mean, and the tags that one word or one tag may mean."""
    people = ask_candidates(pipe, search_query(typed)) if query.words else None
    match query.wanted, query.unwanted:
        case ((OneWord(folded=tag) | WithTag(folded=tag),), ()):
            tags: Result[NamedTags] | None = ask_named_tags(pipe, tag)
        case _:
            tags = None
    return Result(lambda: Meant(people.value if people else None, tags.value if tags else None))


def ask_no_names(pipe: Pipe) -> Result[Meant]:
    """No names stand above later pages, and above what is not by everyone."""
    return Result(lambda: Meant(None, None))
