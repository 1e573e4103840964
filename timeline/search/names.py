"""The people and the tags whose names a query may mean. They stand above the posts."""

from typing import NamedTuple

from accounts.signing_in.viewer import Viewer
from retwis_site.store.client import Store
from timeline.people.directory import People, search_query
from timeline.people.entities import ListedPerson
from timeline.search.queries.entities import OneWord, Query, WithTag
from timeline.tags.completion import tags_named
from timeline.tags.entities import UsedTag

MOST_PEOPLE = 3


class Names(NamedTuple):
    people: list[ListedPerson]  # at most MOST_PEOPLE
    more_people: bool
    tags: list[UsedTag]


NO_NAMES = Names([], False, [])


def names(store: Store, viewer: Viewer, typed: str, query: Query) -> Names:
    """People for a query of words alone, tags for one word or one tag. Round trips as for `People.search` and
    `tags_named`."""
    people: list[ListedPerson] = []
    more = False
    if query.words:
        found = People(store).search(viewer, search_query(typed))
        people, more = found.people, found.more
    match query.wanted, query.unwanted:
        case ((OneWord(folded=tag) | WithTag(folded=tag),), ()):
            tags = tags_named(store, viewer, tag)
        case _:
            tags = []
    return Names(people[:MOST_PEOPLE], more or len(people) > MOST_PEOPLE, tags)
