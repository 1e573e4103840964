"""What completes a name or a tag while it is typed."""

from functools import partial

from accounts.signing_in.viewer import Viewer
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from timeline.people.directory import People, after_prefix, search_query
from timeline.people.entities import ListedPerson
from timeline.posts.parsing.tags import LONGEST_TAG, folded, in_index
from timeline.tags.entities import Tag, UsedTag

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
    prefix = in_index(folded(typed[: LONGEST_TAG + 1]))
    if not prefix:
        return []
    names = viewer.ask(partial(_TagNames, prefix))
    pipe = store.pipeline()
    asked = [(name, pipe.hget(keys.tags(), name), pipe.zcard(keys.tag(name))) for name in names]
    pipe.execute()
    used = [UsedTag(Tag(name, spelling.value or name), posts.value) for name, spelling, posts in asked if posts.value]
    return sorted(used, key=lambda one: (one.tag.folded != folded(typed), -one.posts))[:MOST_SHOWN]


class _TagNames:
    """Asks for the folded tags that begin with a text, in the order of the index."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def queue(self, pipe: Pipe, me: int | None) -> None:
        prefix = self._prefix
        self._names = pipe.zrangebylex(keys.tags_by_name(), f"[{prefix}", after_prefix(prefix), TAGS_READ)

    def result(self) -> list[str]:
        return [folded(name) for name in self._names.value]
