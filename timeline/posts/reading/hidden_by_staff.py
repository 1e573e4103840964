"""People whom staff has hidden: their followers see them, and everyone on their own pages. No one else does."""

from collections.abc import Collection, Iterable

from accounts.users.entities import State, User
from accounts.users.repository import Users
from retwis_site.store.client import Pipe, Store
from timeline.relations.follow import ask_followed


def hidden_among(people: Iterable[User]) -> set[int]:
    """The uids of those of these people whom staff has hidden."""
    return {person.uid for person in people if person.state is State.HIDDEN}


def unseen_by(me: int | None, hidden: set[int], pipe: Pipe) -> set[int]:
    """Those of these hidden people whom the viewer `me` (None: a visitor) does not see. One round trip; none without
    hidden people, and for a visitor."""
    others = hidden - {me}
    if not others or me is None:
        return others
    followed = ask_followed(pipe, me, others)
    pipe.execute()
    return others - followed.value


def seen_by_all(store: Store, people: Collection[int]) -> set[int]:
    """The uids of those of these people whom a visitor sees: without unknown, deleted, suspended and hidden ones. At
    most one round trip, of a command for each who is not cached."""
    found = Users(store).people(people)
    return found.keys() - hidden_among(found.values())
