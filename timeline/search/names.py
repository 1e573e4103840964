"""The people and the tags whose names a query may mean. They stand above the posts.

They are asked for in the round trips of the search: who may be meant in the first, what the page shows in the next.
"""

from typing import NamedTuple

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.people.directory import AskedPeople, Candidates, search_query
from timeline.people.entities import ListedPerson
from timeline.search.queries.parsing import OneWord, Query, WithTag
from timeline.tags.completion import AskedTags, NamedTags
from timeline.tags.tag_pages import UsedTag

MOST_PEOPLE = 3


class Names(NamedTuple):
    people: list[ListedPerson]  # at most MOST_PEOPLE
    more_people: bool
    tags: list[UsedTag]


class Meant(NamedTuple):
    """The people and tags that a query may mean; None where it can mean none."""

    people: Candidates | None
    tags: NamedTags | None

    def ask(self, pipe: Pipe, me: int | None) -> Answer[Names]:
        """What the page shows of them. Commands as for `Candidates` and `NamedTags`."""
        found = self.people.ask(pipe, me) if self.people else None
        used = self.tags.ask(pipe) if self.tags else None

        def read() -> Names:
            people, more = (found.value.people, found.value.more) if found else ([], False)
            return Names(people[:MOST_PEOPLE], more or len(people) > MOST_PEOPLE, used.value if used else [])

        return Answer(read)


class AskedNames:
    """Asks for people, for a query of words alone, and for tags, for one word or one tag."""

    def __init__(self, typed: str, query: Query) -> None:
        self._people = AskedPeople(search_query(typed)) if query.words else None
        match query.wanted, query.unwanted:
            case ((OneWord(folded=tag) | WithTag(folded=tag),), ()):
                self._tags: AskedTags | None = AskedTags(tag)
            case _:
                self._tags = None

    def queue(self, pipe: Pipe, me: int | None) -> None:
        for asked in (self._people, self._tags):
            if asked:
                asked.queue(pipe, me)

    def result(self) -> Meant:
        return Meant(self._people.result() if self._people else None, self._tags.result() if self._tags else None)


class NoNames:
    """Asks for nothing: no names stand above later pages, and above what is not by everyone."""

    def queue(self, pipe: Pipe, me: int | None) -> None:
        """Nothing to ask."""

    def result(self) -> Meant:
        return Meant(None, None)
