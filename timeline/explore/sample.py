"""The posts that explore looks at: the newest ones, and those on which people who are active now have acted.

On a site with up to some thousand posts a week that is every post. A larger site is sampled: there, a post that many
people like is liked by some of those whose posts are among the newest, too.
"""

from collections import Counter
from collections.abc import Sequence

from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import LARGEST_ID, stored_ids
from timeline.posts.reading.hidden_by_staff import seen_by_all
from timeline.posts.reading.records import Record
from timeline.posts.repository import Posts
from timeline.timelines.everyone_list import EveryoneList

PEOPLE = 300  # authors of the newest posts
LATEST_OF_EACH = 30  # likes of each, and reposts
MOST_ACTED_ON = 1000  # posts that are read besides the newest; those on which most people have acted


def sample(store: Store) -> list[Record]:
    """Posts whose authors everyone sees, without reposts. Six round trips: one for the newest ids (more when that list
    must be rebuilt), then at most 1,000 commands each for posts and for authors, 600 for likes and reposts, and
    MOST_ACTED_ON each for the other posts and their authors."""
    newest = _read(store, EveryoneList(store).below(LARGEST_ID).ids)
    known = {post.pid for post in newest}
    acted_on = _acted_on(store, list(dict.fromkeys(post.uid for post in newest))[:PEOPLE])
    further = [pid for pid, _ in acted_on.most_common() if pid not in known][:MOST_ACTED_ON]
    others = _read(store, further)
    return [post for post in (*newest, *others) if post.links.repost_of is None]


def _read(store: Store, pids: Sequence[int]) -> list[Record]:
    """Those of these posts that exist and that everyone sees. Two round trips; none without posts."""
    posts, _ = Posts(store).read(pids)
    seen = seen_by_all(store, {post.uid for post in posts})
    return [post for post in posts if post.uid in seen]


def _acted_on(store: Store, people: Sequence[int]) -> Counter[int]:
    """How often these people have liked and reposted each post lately. One round trip."""
    pipe = store.pipeline()
    asked = [
        (key(uid), pipe.zrevrange(key(uid), 0, LATEST_OF_EACH - 1))
        for uid in people
        for key in (keys.likes, keys.reposts)
    ]
    pipe.execute()
    return Counter(pid for key, members in asked for pid in stored_ids(key, members.value))
