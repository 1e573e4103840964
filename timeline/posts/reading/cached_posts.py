"""The posts that a process keeps: as it has read them last, and whole.

A page takes a post for seconds without reading it; after that it is read, and nearly always it is the same as before.
A whole post has what its card names: the person that it answers, the post that it quotes, and the mentioned people. It
looks the same to everyone who hides nobody. It is put together once, and kept until the first of its parts is too old.
What names people whom staff has hidden is not kept whole.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from accounts.users.entities import User
from accounts.users.repository import cached_until, made_of_users
from retwis_site.store.local_cache import Memory, clock
from timeline.posts.entities import NO_LINKS, Links, Post
from timeline.posts.reading.records import Record, Stored, fields_of, record_from

FRESH_FOR = 5  # seconds in which a page takes a post without reading it


@dataclass(slots=True, eq=False)
class _AsRead:
    """A post as it was read last."""

    hashed: int  # made of its fields as stored: it tells whether the post has changed, and takes less memory than they
    record: Record | None
    post: Post | None = None  # made of the record and of its author
    until: float = 0  # monotonic seconds; until then a page takes it


_as_read: Memory[int, _AsRead] = Memory(size=3500, seconds=3600)  # by pid: 2.5 MB
# With the people whom a post names and its author. They share their parts with `_as_read`: 750 KB.
_whole: Memory[int, tuple[Post, tuple[int, ...]]] = Memory(size=3000, seconds=FRESH_FOR)
made_of_users.append(_whole.clear)


def records_of(read: Mapping[int, Stored]) -> dict[int, Record | None]:
    """Posts by id, from their hashes, as `record_from`. A post that was not changed since it was read last is the same
    object as then."""
    hashed = dict(zip(read, map(hash, map(tuple, read.values())), strict=True))
    kept = {pid: one for pid, one in _as_read.some(read).items() if one.hashed == hashed[pid]}
    if len(kept) < len(read):
        new = {pid: _AsRead(hashed[pid], record_from(pid, *fields_of(read[pid]))) for pid in read if pid not in kept}
        kept |= _as_read.put_all(new)
    return {pid: kept[pid].record for pid in read}


def posts_of(records: Mapping[int, Record], authors: Mapping[int, User]) -> dict[int, Post]:
    """Posts by id, which were just read. A post is the same object as before while neither it nor its author has
    changed."""
    before, until = _as_read.some(records), clock() + FRESH_FOR
    found: dict[int, Post] = {}
    for pid, record in records.items():
        kept, author = before.get(pid), authors[record.uid]
        if kept is None or kept.record is not record:  # another thread has read a later one, or made room
            found[pid] = record.by(author)
            continue
        post = kept.post
        if post is None or post.author != author:
            post = record.by(author)
        found[pid] = kept.post = post
        kept.until = until
    return found


def cached_records(pids: Iterable[int]) -> dict[int, Record]:
    """Those of these posts that this process has read, as they were then."""
    return {pid: one.record for pid, one in _as_read.some(pids).items() if one.record is not None}


def cached(pids: Iterable[int]) -> dict[int, Post]:
    """Those of these posts that a page takes without reading them, without context."""
    now, some = clock(), _as_read.some(pids)
    return {pid: one.post for pid, one in some.items() if one.until >= now and one.post is not None}


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
        if links is NO_LINKS:
            continue
        if links.quote is not None:
            quotes[pid] = links.quote
        if links.repost_of is not None:
            reposts[pid] = links.repost_of
    if quotes:
        known = cached(quotes.values())
        found = {pid: post for pid, post in found.items() if pid not in quotes or quotes[pid] in known}
    if not reposts:
        return found
    known = found | cached_whole(reposts.values(), me, fresh)
    return {pid: post for pid, post in known.items() if reposts.get(pid, pid) in known}


def keep_whole(posts: Iterable[Post]) -> None:
    """Cache posts with their context, each if all its parts are cached."""
    made_of_posts = [(post, (post.pid, *named_by(post.links))) for post in posts]
    read = _as_read.some([pid for _, pids in made_of_posts for pid in pids])
    people_until: dict[tuple[int, ...], float] = {}  # the posts of a profile have the same
    for post, pids in made_of_posts:
        people = _people_in(post)
        if people not in people_until:
            people_until[people] = cached_until(people)
        until = min([people_until[people], *[read[pid].until if pid in read else 0.0 for pid in pids]])
        if until:
            _whole.put_until(post.pid, (post, people), until)


def forget(pid: int) -> None:
    """Remove a deleted post from this process's cache."""
    _as_read.forget(pid)
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
