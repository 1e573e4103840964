"""The follows and likes of a deleted account, removed by a worker a chunk at a time."""

from collections.abc import Iterator

from retwis_site.store import keys
from retwis_site.store.chunks import empty
from retwis_site.store.client import Store
from timeline.relations.ranking import Ranking


def remove_relations(store: Store, uid: int) -> Iterator[None]:
    """Remove both sides of every edge of a user, in chunks, then the user's place in the ranking."""
    yield from _unlike_everything(store, uid)
    yield from _unfollow_everyone(store, uid)
    yield from _lose_followers(store, uid)
    Ranking(store).recount([uid])


def _unlike_everything(store: Store, uid: int) -> Iterator[None]:
    """Remove the mirrors first. The truth goes last, since it leads to them."""
    pipe = store.pipeline()

    def remove(liked: list[int]) -> None:
        for pid in liked:
            pipe.zrem(keys.liked_by(pid), str(uid))
        pipe.execute()

    return empty(store, keys.likes(uid), remove)


def _unfollow_everyone(store: Store, uid: int) -> Iterator[None]:
    """Remove the mirrors and the places in the ranking first. The truth goes last, since it leads to them."""
    pipe = store.pipeline()

    def remove(followed: list[int]) -> None:
        for them in followed:
            pipe.zrem(keys.followers(them), str(uid))
        pipe.execute()
        Ranking(store).recount(followed)

    return empty(store, keys.following(uid), remove)


def _lose_followers(store: Store, uid: int) -> Iterator[None]:
    """Remove the truth first. The mirror goes last, since it leads to the truth.

    The followers' homes are dropped, as after an unfollow. Their dead ids are never shown, but a home full of them
    would show many short pages before all dead ids are dropped.
    """
    pipe = store.pipeline()

    def remove(followers: list[int]) -> None:
        for follower in followers:
            pipe.zrem(keys.following(follower), str(uid))
        pipe.execute()
        for follower in followers:
            pipe.unlink(keys.home(follower))
        pipe.execute()

    return empty(store, keys.followers(uid), remove)
