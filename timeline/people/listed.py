"""People as rows of a list: name, bio, number of followers, and whether the viewer follows them."""

from collections.abc import Callable, Collection

from accounts.users.entities import State
from accounts.users.repository import PERSON, person
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.people.entities import ListedPerson
from timeline.relations.follow import ask_followed
from timeline.relations.mute import ask_hidden

# Asks whom of these people a list leaves out for a viewer.
AskLeftOut = Callable[[Pipe, int, Collection[int]], Answer[set[int]]]


def ask_listed(
    pipe: Pipe, me: int | None, uids: Collection[int], ask_left_out: AskLeftOut = ask_hidden
) -> Answer[dict[int, ListedPerson]]:
    """People by uid, in the order of `uids`, without unknown uids, deleted accounts, those whom `ask_left_out` finds,
    and those whom staff has hidden from people who do not follow them. `joined` is None. Two commands a person, and
    four more for a signed-in viewer; none without uids."""
    uids = list(dict.fromkeys(uids))
    asked = {uid: (pipe.hmget(keys.user(uid), (*PERSON, "bio")), pipe.zcard(keys.followers(uid))) for uid in uids}
    followed = ask_followed(pipe, me, uids) if me is not None and uids else None
    left_out = ask_left_out(pipe, me, uids) if me is not None else None

    def read() -> dict[int, ListedPerson]:
        following = followed.value if followed else set()
        without = left_out.value if left_out else set()
        listed = {}
        for uid, (fields, followers) in asked.items():
            *stored, bio = fields.value
            user = person(uid, stored)
            if user is None or uid in without:
                continue
            if user.state is not State.HIDDEN or uid == me or uid in following:
                listed[uid] = ListedPerson(user, bio or "", followers.value, None, uid == me, uid in following)
        return listed

    return Answer(read)
