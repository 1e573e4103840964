"""What a new post names: the post that it replies to and the post that it quotes."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from accounts.users.deletion import is_deleted
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_ids
from timeline.posts.entities import NO_LINKS, Links, NewPost, TargetBlocked, TargetDeleted, TargetMissing

MOST_ABOVE = 20  # posts above it that a reply names, so that its page finds them at once

_FIELDS = ("user_id", "deleted", "root", "above", "repost_of")


class Target(NamedTuple):
    """A post that another one names."""

    pid: int
    author: int
    deleted: bool
    root: int | None
    above: tuple[int, ...]
    repost_of: int | None


def links_of(store: Store, uid: int, new: NewPost) -> Links:
    """The links of a new post of `uid`. Two round trips, three where a repost is named; none for a post that names no
    other. Raises TargetMissing, TargetDeleted, TargetBlocked."""
    named = {pid for pid in (new.reply_to, new.quote) if pid is not None}
    if not named:
        return NO_LINKS
    found = _read(store, named)
    originals = _read(store, {target.repost_of for target in found.values() if target.repost_of is not None})
    found |= {pid: originals[target.repost_of] for pid, target in found.items() if target.repost_of in originals}
    if any(pid not in found or found[pid].repost_of is not None for pid in named):
        raise TargetMissing
    _check(store, uid, found.values())
    parent = found[new.reply_to] if new.reply_to is not None else None
    quoted = found[new.quote].pid if new.quote is not None else None
    if parent is None:
        return Links(quote=quoted)
    return Links(
        reply_to=parent.pid,
        root=parent.root or parent.pid,
        reply_to_user=parent.author,
        above=(parent.pid, *parent.above)[:MOST_ABOVE],
        quote=quoted,
    )


def _read(store: Store, pids: Collection[int]) -> dict[int, Target]:
    """The posts that exist, also deleted ones. One round trip; none without posts."""
    pipe = store.pipeline()
    asked = {pid: pipe.hmget(keys.post(pid), _FIELDS) for pid in pids}
    pipe.execute()
    found: dict[int, Target] = {}
    for pid, fields in asked.items():
        key = keys.post(pid)
        author, deleted, root, above, repost_of = fields.value
        uid = stored_id(key, author)
        if uid is not None:
            ancestors = tuple(stored_ids(key, (above or "").split()))
            found[pid] = Target(
                pid, uid, deleted is not None, stored_id(key, root), ancestors, stored_id(key, repost_of)
            )
    return found


def _check(store: Store, uid: int, targets: Iterable[Target]) -> None:
    """One round trip. A hash that its author's `updates:` does not list was never published."""
    pipe = store.pipeline()
    asked = [
        (
            target.deleted,
            pipe.zscore(keys.updates(target.author), str(target.pid)),
            pipe.hget(keys.user(target.author), "deleted"),
            [pipe.zscore(key(uid), str(target.author)) for key in (keys.blocked, keys.blocked_by)],
        )
        for target in targets
    ]
    pipe.execute()
    for deleted, listed, account_deleted, blocks in asked:
        if deleted or is_deleted(account_deleted.value):
            raise TargetDeleted
        if listed.value is None:
            raise TargetMissing
        if any(block.value is not None for block in blocks):
            raise TargetBlocked
