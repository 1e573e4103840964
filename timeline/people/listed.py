"""People as rows of a list: name, bio, number of followers, and whether the viewer follows them."""

from collections.abc import Collection

from accounts.users.repository import PERSON, person
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.people.entities import ListedPerson
from timeline.relations.follow import ask_followed
from timeline.relations.protocol.blocks import ask_blocked


def ask_listed(pipe: Pipe, me: int | None, uids: Collection[int]) -> Answer[dict[int, ListedPerson]]:
    """People by uid, in the order of `uids`, without unknown uids, deleted accounts, and people with a block
    between them and the viewer. `joined` is None. Two commands a person, and three more for a signed-in viewer;
    none without uids."""
    uids = list(dict.fromkeys(uids))
    asked = {uid: (pipe.hmget(keys.user(uid), (*PERSON, "bio")), pipe.zcard(keys.followers(uid))) for uid in uids}
    followed = ask_followed(pipe, me, uids) if me is not None and uids else None
    blocked = ask_blocked(pipe, me, uids) if me is not None else None

    def read() -> dict[int, ListedPerson]:
        following = followed.value if followed else set()
        without = blocked.value if blocked else set()
        listed = {}
        for uid, (fields, followers) in asked.items():
            *stored, bio = fields.value
            user = person(uid, stored)
            if user is not None and uid not in without:
                listed[uid] = ListedPerson(user, bio or "", followers.value, None, uid == me, uid in following)
        return listed

    return Answer(read)
