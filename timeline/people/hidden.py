"""The people whom a user blocks and mutes."""

import time
from collections.abc import Callable
from enum import StrEnum
from math import inf
from typing import NamedTuple

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import ask_people
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import stored_id
from retwis_site.store.reading import trip
from retwis_site.store.replies import Result

MOST = 100  # people of each kind that the page has


class Hides(StrEnum):
    """What of a person a user hides."""

    BLOCKED = "blocked"
    MUTED = "muted"
    REPOSTS = "reposts"


KEYS: dict[Hides, Callable[[int], str]] = {
    Hides.BLOCKED: keys.blocked,
    Hides.MUTED: keys.muted,
    Hides.REPOSTS: keys.muted_reposts,
}


class HiddenPerson(NamedTuple):
    user: User
    until: int | None  # unix seconds; None: until the user undoes it


HiddenPeople = dict[Hides, list[HiddenPerson]]


def hidden_people(store: Store, viewer: Viewer) -> HiddenPeople:
    """The people of each kind, without deleted accounts: at most MOST, the last blocked and the longest muted ones. Two
    round trips with cached uids. Raises NotSignedIn."""
    _, [found] = viewer.ask_as_user(lambda pipe, me: trip(_ask_rows(pipe, me)))
    pipe = store.pipeline()
    people = ask_people(pipe, {uid for rows in found.values() for uid in rows})
    pipe.execute()
    return {
        kind: [HiddenPerson(people.value[uid], until) for uid, until in rows.items() if uid in people.value]
        for kind, rows in found.items()
    }


def _ask_rows(pipe: Pipe, me: int) -> Result[dict[Hides, dict[int, int | None]]]:
    asked = {kind: pipe.zrevrange_withscores(key(me), 0, MOST - 1) for kind, key in KEYS.items()}
    return Result(lambda: {kind: _that_stand(kind, KEYS[kind](me), rows.value) for kind, rows in asked.items()})


def _that_stand(kind: Hides, key: str, rows: Scored) -> dict[int, int | None]:
    """Until when each person is hidden. The score of a block is since when, that of a mute until when."""
    uids = {uid: score for member, score in rows if (uid := stored_id(key, member)) is not None}
    if kind is Hides.BLOCKED:
        return dict.fromkeys(uids)
    now = time.time()
    return {uid: None if until == inf else int(until) for uid, until in uids.items() if until > now}
