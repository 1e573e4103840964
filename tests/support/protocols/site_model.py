"""A model of the site: a few dicts, and for each page what it shows."""

from collections.abc import Collection
from dataclasses import dataclass, field

from accounts.users.entities import User
from accounts.users.names import entry
from timeline.people.entities import FollowRow, KnownFollowers, ListedPerson, Relation, Show
from timeline.posts.entities import Post
from timeline.relations.entities import FollowCounts, InCommon


@dataclass
class Person:
    uid: int
    name: str  # the username, as typed
    registered: int  # unix seconds
    password: str
    secret: str
    display_name: str = ""
    bio: str = ""

    @property
    def user(self) -> User:
        return User(self.uid, self.name, self.display_name)

    @property
    def index_entries(self) -> set[str]:
        """The members of `users_by_name`."""
        return {entry(name, self.uid) for name in (self.name, self.display_name or self.name)}


@dataclass
class ModelPost:
    author: int
    body: str
    time: int  # unix seconds
    deleted: bool = False


@dataclass
class Model:
    people: dict[int, Person] = field(default_factory=dict)
    deleted: dict[int, Person] = field(default_factory=dict)  # deleted accounts, by uid
    posts: dict[int, ModelPost] = field(default_factory=dict)
    since: dict[tuple[int, int], int] = field(default_factory=dict)  # (follower, followed): date (unix seconds)
    ended: set[str] = field(default_factory=set)  # secrets that no longer sign in

    def named(self, name: str) -> Person | None:
        return _named(self.people, name)

    def deleted_user(self, name: str) -> Person | None:
        return _named(self.deleted, name)

    def delete_account(self, me: int) -> None:
        person = self.deleted[me] = self.people.pop(me)
        self.ended.add(person.secret)
        self.since = {edge: since for edge, since in self.since.items() if me not in edge}
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
            if show is Show.ALL or (one in others) == (show is Show.MUTUAL)
        ]

    def listed(self, viewer: int | None, uid: int) -> ListedPerson:
        followed = viewer is not None and uid in self.following(viewer)
        person = self.people[uid]
        return ListedPerson(person.user, person.bio, len(self.followers(uid)), None, uid == viewer, followed)

    def counts(self, me: int) -> FollowCounts:
        return FollowCounts(len(self.following(me)), len(self.followers(me)))

    def relation(self, me: int | None, them: int) -> Relation:
        if me is None or me == them:
            return Relation(is_me=me == them)
        followers = self.followers(me).keys() & self.followers(them).keys()
        following = self.following(me).keys() & self.following(them).keys()
        known = sorted(self.following(me).keys() & self.followers(them).keys())
        named = tuple(self.people[uid].user for uid in known[:2])
        others = InCommon(len(known) - len(named), exact=True)
        return Relation(
            following=them in self.following(me),
            common_followers=InCommon(len(followers), exact=True),
            common_following=InCommon(len(following), exact=True),
            follows_me=me in self.following(them),
            known=KnownFollowers(named, others) if known else None,
        )

    def posts_of(self, authors: Collection[int], before: int | None = None) -> list[Post]:
        """The posts of these authors below a cursor, newest first, without deleted posts."""
        return [
            Post(pid, self.people[post.author].user, post.body, post.time)
            for pid, post in sorted(self.posts.items(), reverse=True)
            if post.author in authors and not post.deleted and (before is None or pid < before)
        ]

    def home(self, me: int, before: int | None) -> list[Post]:
        return self.posts_of({me, *self.following(me)}, before)

    def newest_users(self) -> list[str]:
        rows = sorted(((one.registered, one.name) for one in self.people.values()), reverse=True)
        return [name for _, name in rows]


def _named(people: dict[int, Person], name: str) -> Person | None:
    return next((one for one in people.values() if one.name.lower() == name.lower()), None)
