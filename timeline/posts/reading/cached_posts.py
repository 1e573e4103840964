"""The posts that a process keeps for seconds: alone, and whole.

A whole post has what its card names: the person that it answers, the post that it quotes, and the mentioned people. It
looks the same to everyone who hides nobody. It is put together once, and kept until the first of its parts is too old.
What names people whom staff has hidden is not kept whole.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from accounts.users.repository import cached_until, made_of_users
from retwis_site.store.local_cache import Memory
from timeline.posts.entities import Links, Post

# An entry has a post of some 350 bytes, so all have 3 MB; 7 MB if every text is as long as can be.
_posts: Memory[int, Post] = Memory(size=5000, seconds=5)
# With the people whom a post names and its author. They share their parts with `_posts`: 2 MB.
_whole: Memory[int, tuple[Post, tuple[int, ...]]] = Memory(size=5000, seconds=5)
made_of_users.append(_whole.clear)


def cached(pids: Iterable[int]) -> dict[int, Post]:
    """Those of these posts that are cached, without context."""
    return _posts.some(pids)


def keep(posts: Mapping[int, Post]) -> dict[int, Post]:
    """Cache posts without context. Returns them. A post that has not changed stays the same object."""
    return _posts.put_all(posts)


def cached_whole(pids: Iterable[int], me: int | None, fresh: Collection[int]) -> dict[int, Post]:
    """Those of these posts that are cached whole; a repost is followed by its original. Without the posts in `fresh`,
    those by the viewer `me`, and those that name such a post or the viewer: people see at once what they did. Without
    those that quote a post that was forgotten, such as a deleted one."""
    found, quotes, reposts = {}, {}, {}
    for pid, (post, people) in _whole.some(pids).items():
        if me in people or (fresh and _names(post, fresh)):
            continue
        found[pid] = post
        links = post.links
        if links.quote is not None:
            quotes[pid] = links.quote
        if links.repost_of is not None:
            reposts[pid] = links.repost_of
    if quotes:
        known = _posts.some(quotes.values())
        found = {pid: post for pid, post in found.items() if pid not in quotes or quotes[pid] in known}
    if not reposts:
        return found
    known = found | cached_whole(reposts.values(), me, fresh)
    return {pid: post for pid, post in known.items() if reposts.get(pid, pid) in known}


def keep_whole(posts: Iterable[Post]) -> None:
    """Cache posts with their context, each if all its parts are cached."""
    for post in posts:
        people = _people_in(post)
        until = min(_posts.until((post.pid, *named_by(post.links))), cached_until(people))
        if until:
            _whole.put_until(post.pid, (post, people), until)


def forget(pid: int) -> None:
    """Remove a deleted post from this process's cache."""
    _posts.forget(pid)
    _whole.forget(pid)


def named_by(links: Links) -> Sequence[int]:
    """The post that is shown with a post, or instead of it."""
    named = links.repost_of or links.quote
    return () if named is None else (named,)


def people_of(author: int, links: Links) -> Sequence[int]:
    """The author of a post, and the people that it names."""
    answered = () if links.reply_to_user is None else (links.reply_to_user,)
    return (author, *answered, *(links.mentions or ()))


def made_of(posts: Collection[Post]) -> tuple[set[int], tuple[int, ...]]:
    """The ids of these posts and of those that they name, and the uids of all people that their cards name."""
    pids = {pid for post in posts for pid in (post.pid, *named_by(post.links))}
    return pids, tuple(set().union(*map(_people_in, posts)))


def _people_in(post: Post) -> tuple[int, ...]:
    quoted = post.context.quoted
    named = people_of(quoted.author.uid, quoted.links) if quoted else ()
    return (*people_of(post.author.uid, post.links), *named)


def _names(post: Post, fresh: Collection[int]) -> bool:
    """Whether it is one of these posts, or names one."""
    return any(pid in fresh for pid in (post.pid, *named_by(post.links)))
