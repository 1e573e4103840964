"""What completes a name or a tag while it is typed."""

from typing import NamedTuple

from accounts.signing_in.viewer import Viewer
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.reading import trip
from retwis_site.store.replies import Result
from timeline.people.directory import People, after_prefix, search_query
from timeline.people.entities import ListedPerson
from timeline.posts.links import LONGEST_TAG, folded, in_index
from timeline.tags.tag_pages import Tag, UsedTag

MOST_SHOWN = 8
TAGS_READ = 40  # tags of which the most used are shown


def people_named(store: Store, viewer: Viewer, typed: str) -> list[ListedPerson]:
    """At most MOST_SHOWN people whose username or display name begins with this text; first those that the viewer
    follows. Round trips as for `People.search`; none without a text."""
    query = search_query(typed)
    if not query:
        return []
    found = People(store).search(viewer, query).people
    return sorted(found, key=lambda one: not one.following)[:MOST_SHOWN]


def tags_named(store: Store, viewer: Viewer, typed: str) -> list[UsedTag]:
    """At most MOST_SHOWN tags that begin with this text and have posts, the most used first. Two round trips; one when
    nothing matches, none without a text."""
    if not _beginning(typed):
        return []
    [named] = viewer.ask(lambda pipe, me: trip(ask_named_tags(pipe, typed)))
    pipe = store.pipeline()
    used = named.ask(pipe)
    pipe.execute()
    return used.value


def _beginning(typed: str) -> str:
    return in_index(folded(typed[: LONGEST_TAG + 1]))


class NamedTags(NamedTuple):
    """Tags that begin with a text; some of them may have no posts."""

    typed: str
    names: list[str]  # folded, in the order of the index

    def ask(self, pipe: Pipe) -> Result[list[UsedTag]]:
        """At most MOST_SHOWN that have posts, the most used first. Two commands for each name, at most TAGS_READ."""
        asked = [(name, pipe.hget(keys.tags(), name), pipe.zcard(keys.tag(name))) for name in self.names]

        def read() -> list[UsedTag]:
            used = [
                UsedTag(Tag(name, spelling.value or name), posts.value)
                for name, spelling, posts in asked
                if posts.value
            ]
            return sorted(used, key=lambda one: (one.tag.folded != folded(self.typed), -one.posts))[:MOST_SHOWN]

        return Result(read)


def ask_named_tags(pipe: Pipe, typed: str) -> Result[NamedTags]:
    """The tags that begin with a text, which is not empty. One command."""
    prefix = _beginning(typed)
    names = pipe.zrangebylex(keys.tags_by_name(), f"[{prefix}", after_prefix(prefix), TAGS_READ)
    return Result(lambda: NamedTags(typed, [folded(name) for name in names.value]))
