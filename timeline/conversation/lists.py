"""Lists around posts: quotes of a post, who likes or reposts it, and what the viewer likes or keeps."""

from dataclasses import dataclass

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids, stored_rows
from retwis_site.store.reading import trip
from timeline.people.directory import PEOPLE_A_PAGE
from timeline.people.lists import ListedPerson, ScoreCursor, ask_listed, ask_start_rank
from timeline.posts.entities import Page, Post
from timeline.posts.reading.one_post import OnePost
from timeline.posts.reading.post_reader import PostReader, ask_latest_acted
from timeline.relations.relation import Relation
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, fill

# ---- The posts that quote a post.


@dataclass(frozen=True, slots=True)
class QuotesPage:
    author: User  # of the quoted post
    pid: int
    page: Page


class Quotes:
    """All quotes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, viewer: Viewer, username: str, pid: int, before: int | None) -> QuotesPage:
        """The posts below the cursor that quote a post of `username`, newest first.

        Two round trips with cached uids; one more where many of the quotes are hidden, and those of `PostReader.read`
        while the author of a post is not cached. Raises NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted.
        """
        below, most = "+inf" if before is None else f"({before}", POSTS_A_PAGE + READ_MORE + 1
        author, (_, acted, quotes) = viewer.ask_about(
            username,
            lambda pipe, me, them: trip(
                OnePost(pipe, me, them, pid),
                ask_latest_acted(pipe, me),
                pipe.zrevrangebyscore(keys.quotes_of(pid), below, "-inf", most),
            ),
        )
        pids = stored_ids(keys.quotes_of(pid), quotes)
        reader = PostReader(self._store, viewer.user, acted=acted, fresh=viewer.just_changed)
        filled = fill(pids, POSTS_A_PAGE, reader.read)
        return QuotesPage(author, pid, Page(filled.posts, filled.older))


# ---- Who likes a post, and who has reposted it.


@dataclass(frozen=True, slots=True)
class ActedByPage:
    """A page of people, the latest first."""

    author: User  # of the post
    pid: int
    people: list[ListedPerson]
    older: str | None  # the cursor of the next page; None on the last page


class ActedBy:
    """The people who have acted on posts: of a relation with a mirror, such as those who like them. Only reads."""

    def __init__(self, store: Store, relation: Relation) -> None:
        self._store = store
        self._relation = relation

    def page(self, viewer: Viewer, username: str, pid: int, before: ScoreCursor | None) -> ActedByPage:
        """Who has acted on a post of `username`. Two round trips with cached uids, three for a later page. Raises
        NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, NotShown."""
        assert self._relation.mirror is not None
        key = self._relation.mirror(pid)
        if before is None:
            author, (_, found) = viewer.ask_about(
                username,
                lambda pipe, me, them: trip(
                    OnePost(pipe, me, them, pid), pipe.zrevrange_withscores(key, 0, PEOPLE_A_PAGE)
                ),
            )
        else:
            author, (_, start) = viewer.ask_about(
                username,
                lambda pipe, me, them: trip(
                    OnePost(pipe, me, them, pid), ask_start_rank(pipe, key, str(before.uid), before.score)
                ),
            )
            found = self._store.zrevrange_withscores(key, start, start + PEOPLE_A_PAGE)
        shown = stored_rows(key, found[:PEOPLE_A_PAGE])
        pipe = self._store.pipeline()
        people = ask_listed(pipe, viewer.uid, [uid for uid, _ in shown])
        pipe.execute()
        older = None
        if shown and len(found) > PEOPLE_A_PAGE:
            uid, score = shown[-1]
            older = str(ScoreCursor(score, uid))
        return ActedByPage(author, pid, [*people.value.values()], older)


# ---- A user's own lists of posts: those that they like, and those that they keep.


MOST = POSTS_A_PAGE + READ_MORE + 1  # rows that are read for a page


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page of posts, the latest like or bookmark first."""

    posts: list[Post]
    older: ScoreCursor | None  # None on the last page


class SavedPosts:
    """The posts of one relation of the viewer, such as those that they like. Only reads."""

    def __init__(self, store: Store, relation: Relation) -> None:
        self._store = store
        self._key = relation.truth

    def page(self, viewer: Viewer, before: ScoreCursor | None) -> SavedPage:
        """The posts, the last one first. Two round trips with cached uids, three for a later page; one more where many
        are deleted or hidden, and those of `PostReader.read`. Raises NotSignedIn."""
        key = self._key
        if before is None:
            me, (scored, acted) = viewer.ask_as_user(
                lambda pipe, me: trip(pipe.zrevrange_withscores(key(me), 0, MOST - 1), ask_latest_acted(pipe, me))
            )
        else:
            me, (start, acted) = viewer.ask_as_user(
                lambda pipe, me: trip(
                    ask_start_rank(pipe, key(me), str(before.uid), before.score), ask_latest_acted(pipe, me)
                )
            )
            scored = self._store.zrevrange_withscores(key(me.uid), start, start + MOST - 1)
        scores = dict(stored_rows(key(me.uid), scored))
        reader = PostReader(self._store, me, acted=acted, fresh=viewer.just_changed)
        filled = fill([*scores], POSTS_A_PAGE, reader.read)
        older = filled.older
        return SavedPage(filled.posts, None if older is None else ScoreCursor(scores[older], older))
