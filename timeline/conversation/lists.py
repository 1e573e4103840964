"""Lists around posts: quotes of a post, who likes or reposts it, and what the viewer likes or keeps."""

from dataclasses import dataclass

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids, stored_rows
from retwis_site.store.reading import trip
from timeline.people.lists import PEOPLE_A_PAGE, Cursor, ListedPerson, ask_listed, read_rows
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

    def page(self, viewer: Viewer, username: str, pid: int, before: Cursor | None) -> ActedByPage:
        """Who has acted on a post of `username`. Two round trips with cached uids, three for a later page. Raises
        NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, NotShown."""
        assert self._relation.mirror is not None
        key = self._relation.mirror(pid)
        author, (_, found) = viewer.ask_about(
            username,
            lambda pipe, me, them: read_rows(pipe, key, before, PEOPLE_A_PAGE + 1, OnePost(pipe, me, them, pid)),
        )
        shown = stored_rows(key, found[:PEOPLE_A_PAGE])
        pipe = self._store.pipeline()
        people = ask_listed(pipe, viewer.uid, [uid for uid, _ in shown])
        pipe.execute()
        older = None
        if shown and len(found) > PEOPLE_A_PAGE:
            uid, score = shown[-1]
            older = str(Cursor(score, str(uid)))
        return ActedByPage(author, pid, [*people.value.values()], older)


# ---- A user's own lists of posts: those that they like, and those that they keep.


MOST = POSTS_A_PAGE + READ_MORE + 1  # rows that are read for a page


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page of posts, the latest like or bookmark first."""

    posts: list[Post]
    older: Cursor | None  # None on the last page


class SavedPosts:
    """The posts of one relation of the viewer, such as those that they like. Only reads."""

    def __init__(self, store: Store, relation: Relation) -> None:
        self._store = store
        self._key = relation.truth

    def page(self, viewer: Viewer, before: Cursor | None) -> SavedPage:
        """The posts, the last one first. Two round trips with cached uids, three for a later page; one more where many
        are deleted or hidden, and those of `PostReader.read`. Raises NotSignedIn."""
        key = self._key
        me, (acted, scored) = viewer.ask_as_user(
            lambda pipe, me: read_rows(pipe, key(me), before, MOST, ask_latest_acted(pipe, me))
        )
        scores = dict(stored_rows(key(me.uid), scored))
        reader = PostReader(self._store, me, acted=acted, fresh=viewer.just_changed)
        filled = fill([*scores], POSTS_A_PAGE, reader.read)
        older = filled.older
        return SavedPage(filled.posts, None if older is None else Cursor(scores[older], str(older)))
