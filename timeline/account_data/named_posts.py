"""The posts that a download names, found on this site.

An id alone proves nothing: on another site, another post may have it. So a post is taken for the named one when its
author has the same name, and when it is older than what names it. A post of the owner is known by the import itself.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from accounts.users.repository import Users, ask_owners
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_ids, stored_time
from timeline.posts.entities import Links
from timeline.posts.parsing.links import names_in
from timeline.posts.reading.history import Version
from timeline.posts.writing.targets import MOST_ABOVE

ADDRESS = re.compile(r"/@([^/]+)/(\d+)/$")


class Named(NamedTuple):
    """A post as a download names it."""

    pid: int
    author: str = ""  # the username in its address, in lower case; empty without an address


class OldPost(NamedTuple):
    """A post as the download has it."""

    pid: int
    time: int  # unix seconds
    body: str
    reply_to: Named | None = None
    quote: Named | None = None
    texts: tuple[Version, ...] = ()  # of an edited post; the newest last


class Target(NamedTuple):
    """A post of this site."""

    pid: int
    uid: int
    author: str  # the username, in lower case
    time: int  # unix seconds
    root: int | None
    above: tuple[int, ...]


def named(pid: int, address: str) -> Named:
    """The post with this id; `address`: of its page, which has the name of its author."""
    found = ADDRESS.search(unquote(urlsplit(address).path))
    return Named(pid, found[1].lower() if found and int(found[2]) == pid else "")


def find(store: Store, pids: Collection[int]) -> dict[int, Target]:
    """The posts with these ids that somebody can read. Three round trips; none without ids."""
    pipe = store.pipeline()
    asked = {
        pid: pipe.hmget(keys.post(pid), ["user_id", "time", "root", "above", "deleted", "repost_of"]) for pid in pids
    }
    pipe.execute()
    found = {}
    for pid, fields in asked.items():
        key, (author, when, root, above, *refused) = keys.post(pid), fields.value
        uid = stored_id(key, author)
        if uid is not None and not any(refused):
            ancestors = tuple(stored_ids(key, (above or "").split()))
            found[pid] = Target(pid, uid, "", stored_time(key, when), stored_id(key, root), ancestors)
    listed = {pid: pipe.zscore(keys.updates(one.uid), str(pid)) for pid, one in found.items()}
    pipe.execute()
    people = Users(store).people({one.uid for one in found.values()})
    return {
        pid: one._replace(author=people[one.uid].username.lower())
        for pid, one in found.items()
        if one.uid in people and listed[pid].value is not None
    }


def is_same(target: Target | None, named_post: Named, when: int) -> bool:
    """Whether a post of this site is the one that a download names. `when`: of what names it, in unix seconds."""
    return target is not None and target.author == named_post.author and target.time <= when


class Conversation:
    """The links of posts that are brought back. `find` the posts that a chunk names, then ask for its `links`."""

    def __init__(self, store: Store, uid: int) -> None:
        self._store = store
        self._uid = uid
        self._own: dict[int, int] = {}  # ids on this site, by the ids of the download
        self._found: dict[int, Target] = {}  # by ids on this site
        self._owners: dict[str, int] = {}  # uids by the names that texts mention
        self.plain_replies = 0
        self.plain_quotes = 0

    def has(self, old: int, pid: int) -> None:
        """Note that the site has a post of the owner, with this id."""
        self._own[old] = pid

    def id_of(self, old: int) -> int | None:
        """The id on this site of a post of the owner."""
        return self._own.get(old)

    def find(self, posts: Sequence[OldPost]) -> None:
        """Find what these posts name. At most four round trips."""
        pids = {self._own.get(one.pid, one.pid) for post in posts for one in (post.reply_to, post.quote) if one}
        self._found = find(self._store, pids)
        names = dict.fromkeys(name for post in posts for name in names_in(post.body))
        pipe = self._store.pipeline()
        owners = ask_owners(pipe, [*names]) if names else None
        pipe.execute()
        self._owners = owners.value if owners else {}

    def links(self, pid: int, post: OldPost) -> Links:
        """The links of a post that gets this id. The posts before it were asked for already."""
        parent, quoted = self._target(post.reply_to, post.time), self._target(post.quote, post.time)
        self.plain_replies += post.reply_to is not None and parent is None
        self.plain_quotes += post.quote is not None and quoted is None
        names = names_in(post.body)
        mentions = dict.fromkeys(self._owners[name] for name in names if name in self._owners)
        links = Links(quote=quoted.pid if quoted else None, mentions=tuple(mentions) if names else None)
        if parent is not None:
            links = links._replace(
                reply_to=parent.pid,
                root=parent.root or parent.pid,
                reply_to_user=parent.uid,
                above=(parent.pid, *parent.above)[:MOST_ABOVE],
            )
        self._found[pid] = Target(pid, self._uid, "", post.time, links.root, links.above)
        return links

    def _target(self, one: Named | None, when: int) -> Target | None:
        if one is None:
            return None
        if one.pid in self._own:
            return self._found.get(self._own[one.pid])
        target = self._found.get(one.pid)
        return target if is_same(target, one, when) else None
