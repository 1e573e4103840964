"""A model of the site: a few dicts, and for each page what it shows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from accounts.users.entities import User
from accounts.users.names import entries
from timeline.people.lists import FollowRow, KnownFollowers, ListedPerson, Show, ViewerRelation
from timeline.posts.entities import Post, PostCounts
from timeline.relations.relations import Between, Blocks, FollowCounts, Hiding, InCommon


@dataclass
class Person:
    uid: int
    name: str  # the username, as typed
    registered: int  # unix seconds
    password: str
    secret: str  # the official one
    sessions: set[str] = field(default_factory=set)  # secrets
    display_name: str = ""
    bio: str = ""

    @property
    def user(self) -> User:
        return User(self.uid, self.name, self.display_name)

    @property
    def index_entries(self) -> set[str]:
        """The members of `users_by_name`."""
        return set(entries(self.user))


@dataclass
class ModelPost:
    author: int
    body: str
    time: int  # unix seconds
    deleted: bool = False
    reply_to: int | None = None
    quote: int | None = None
    edited: bool = False


Entry = tuple[int, int]  # what a list holds: the id of a post or of its repost, and the id of the post


@dataclass
class Model:
    people: dict[int, Person] = field(default_factory=dict)
    deleted: dict[int, Person] = field(default_factory=dict)  # deleted accounts, by uid
    posts: dict[int, ModelPost] = field(default_factory=dict)
    since: dict[tuple[int, int], int] = field(default_factory=dict)  # (follower, followed): date (unix seconds)
    ended: set[str] = field(default_factory=set)  # secrets that no longer sign in
    may_be_stale: set[str] = field(default_factory=set)  # secrets that a killed process may have left in `auths`
    likes: set[tuple[int, int]] = field(default_factory=set)  # (who, post)
    reposts: dict[tuple[int, int], int] = field(default_factory=dict)  # (who, post): id of the repost
    blocks: set[tuple[int, int]] = field(default_factory=set)  # (who, whom)
    mutes: set[tuple[int, int]] = field(default_factory=set)  # (who, whom)

    def named(self, name: str) -> Person | None:
        return _named(self.people, name)

    def deleted_user(self, name: str) -> Person | None:
        return _named(self.deleted, name)

    def delete_account(self, me: int) -> None:
        person = self.deleted[me] = self.people.pop(me)
        self.ended |= {person.secret, *person.sessions}
        self.since = {edge: since for edge, since in self.since.items() if me not in edge}
        self.blocks = {edge for edge in self.blocks if me not in edge}
        self.mutes = {edge for edge in self.mutes if me not in edge}
        self.likes = {(who, pid) for who, pid in self.likes if who != me}
        self.reposts = {(who, pid): own for (who, pid), own in self.reposts.items() if who != me}
        for post in self.posts.values():
            post.deleted |= post.author == me

    def following(self, me: int) -> dict[int, int]:
        return {followed: since for (follower, followed), since in self.since.items() if follower == me}

    def followers(self, me: int) -> dict[int, int]:
        return {follower: since for (follower, followed), since in self.since.items() if followed == me}

    def edges(self, viewer: int | None, uid: int, side: str, show: Show = Show.ALL) -> list[FollowRow]:
        """Newest first; rows of the same second are in the order of a sorted set."""
        people, others = self.followers(uid), self.following(uid)
        if side == "following":
            people, others = others, people
        newest_first = sorted(people, key=lambda one: (people[one], str(one)), reverse=True)
        mine = {} if viewer is None or (side, viewer) == ("followers", uid) else self.followers(viewer)
        return [
            FollowRow(self.listed(viewer, one), people[one], one in mine)
            for one in newest_first
            if (show is Show.ALL or (one in others) == (show is Show.MUTUAL))
            and (viewer == uid or (viewer, one) not in self.mutes)
        ]

    def listed(self, viewer: int | None, uid: int) -> ListedPerson:
        followed = viewer is not None and uid in self.following(viewer)
        person = self.people[uid]
        return ListedPerson(person.user, person.bio, len(self.followers(uid)), None, uid == viewer, followed)

    def counts(self, me: int) -> FollowCounts:
        return FollowCounts(len(self.following(me)), len(self.followers(me)))

    def relation(self, me: int | None, them: int) -> ViewerRelation:
        if me is None or me == them:
            return ViewerRelation(is_me=me == them)
        followers = self.followers(me).keys() & self.followers(them).keys()
        following = self.following(me).keys() & self.following(them).keys()
        both = self.following(me).keys() & self.followers(them).keys()
        known = sorted(uid for uid in both if (me, uid) not in self.mutes)
        named = tuple(self.people[uid].user for uid in known[:2])
        others = InCommon(len(known) - len(named), exact=True)
        hiding = Hiding(Blocks((me, them) in self.blocks, (them, me) in self.blocks), (me, them) in self.mutes)
        return ViewerRelation(
            between=Between(them in self.following(me), me in self.following(them), hiding),
            common_followers=InCommon(len(followers), exact=True),
            common_following=InCommon(len(following), exact=True),
            known=KnownFollowers(named, others) if known else None,
        )

    def block(self, me: int, them: int) -> None:
        self.blocks.add((me, them))
        for edge in ((me, them), (them, me)):
            self.since.pop(edge, None)

    def blocked(self, one: int | None, other: int) -> bool:
        """Whether one of the two blocks the other."""
        return one is not None and not self.blocks.isdisjoint({(one, other), (other, one)})

    def posts_of(self, authors: Collection[int], before: int | None = None) -> list[int]:
        """The posts of these authors below a cursor, newest first, without deleted posts."""
        return [
            pid
            for pid, post in sorted(self.posts.items(), reverse=True)
            if post.author in authors and not post.deleted and (before is None or pid < before)
        ]

    def reposts_of(self, authors: Collection[int]) -> list[Entry]:
        return [
            (own, pid) for (who, pid), own in self.reposts.items() if who in authors and not self.posts[pid].deleted
        ]

    def shows(self, viewer: int | None, pid: int, page_of: int | None = None) -> bool:
        """Whether a viewer sees a post; on the page of one person also when they mute them."""
        post = self.posts[pid]
        return not post.deleted and not self.hides(viewer, post.author, page_of)

    def hides(self, viewer: int | None, uid: int, page_of: int | None = None) -> bool:
        return self.blocked(viewer, uid) or (uid != page_of and (viewer, uid) in self.mutes)

    def home(self, me: int, before: int | None) -> list[Entry]:
        """Of the answers to others only those to people whom `me` reads too."""
        read = {me, *self.following(me)}
        posts = [(pid, pid) for pid in self.posts_of(read) if self._answers_one_of({*read}, pid)]
        return self._below(before, [*posts, *self.reposts_of(read)], me, None)

    def profile(self, viewer: int | None, uid: int, before: int | None, with_replies: bool) -> list[Entry]:
        posts = [(pid, pid) for pid in self.posts_of({uid}) if with_replies or self._answers_one_of({uid}, pid)]
        reposts = [] if with_replies else self.reposts_of({uid})
        return self._below(before, [*posts, *reposts], viewer, uid)

    def _answers_one_of(self, people: set[int], pid: int) -> bool:
        post = self.posts[pid]
        return post.reply_to is None or self.posts[post.reply_to].author in {*people, post.author}

    def _below(self, before: int | None, entries: list[Entry], viewer: int | None, page_of: int | None) -> list[Entry]:
        by = {own: who for (who, _), own in self.reposts.items()}
        return sorted(
            (
                (own, pid)
                for own, pid in entries
                if (before is None or own < before)
                and self.shows(viewer, pid, page_of)
                and not (own in by and self.hides(viewer, by[own], page_of))
            ),
            reverse=True,
        )

    # ---- threads

    def answers(self, pid: int) -> list[int]:
        """The answers to a post that stand in its thread, oldest first. A deleted one stands while it has answers."""
        return [
            each
            for each, post in sorted(self.posts.items())
            if post.reply_to == pid and (not post.deleted or self.answers(each))
        ]

    def above(self, pid: int) -> Iterator[int]:
        """The posts above a post in its thread, nearest first."""
        while (higher := self.posts[pid].reply_to) is not None:
            yield higher
            pid = higher

    def shown_replies(self, viewer: int | None, pid: int, page_of: int) -> list[int]:
        """The answers to a post on the page of a thread, in their order: the posts that the viewer sees, and those that
        lead to such a post."""
        shown = [
            each
            for each in self.answers(pid)
            if self.shows(viewer, each, page_of) or self.shown_replies(viewer, each, page_of)
        ]
        followed = {} if viewer is None else self.following(viewer)

        def rank(each: int) -> tuple[int, int]:
            author = self.posts[each].author
            if not self.shows(viewer, each, page_of):
                return 2, each
            return (0 if author == page_of else 1 if author in followed else 2), each

        return sorted(shown, key=rank)

    def counts_of(self, pid: int) -> PostCounts:
        return PostCounts(
            likes=sum(liked == pid for _, liked in self.likes),
            reposts=sum(reposted == pid for _, reposted in self.reposts),
            replies=len(self.answers(pid)),
            quotes=sum(post.quote == pid and not post.deleted for post in self.posts.values()),
        )

    def assert_looks_right(self, viewer: int | None, post: Post, page_of: int | None = None) -> None:
        """A post on a page is as it was written, with what it names, what others did and what the viewer did."""
        pid, mine = post.pid, self.posts[post.pid]
        assert (post.author, post.body, post.time) == (self.people[mine.author].user, mine.body, mine.time)
        assert (post.edited is not None) == mine.edited
        above = list(self.above(pid))
        assert (post.links.reply_to, post.links.quote, list(post.links.above)) == (
            mine.reply_to,
            mine.quote,
            above[:20],
        )
        assert post.links.root == (above[-1] if above else None)
        assert post.counts == self.counts_of(pid)
        acted = post.context.acted
        assert (acted.liked, acted.reposted) == ((viewer, pid) in self.likes, (viewer, pid) in self.reposts)
        quoted = mine.quote if mine.quote is not None and self.shows(viewer, mine.quote, page_of) else None
        assert (post.context.quoted and post.context.quoted.pid) == quoted

    def newest_users(self) -> list[str]:
        rows = sorted(((one.registered, one.name) for one in self.people.values()), reverse=True)
        return [name for _, name in rows]


def _named(people: dict[int, Person], name: str) -> Person | None:
    return next((one for one in people.values() if one.name.lower() == name.lower()), None)
