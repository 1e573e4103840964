"""What staff may know of a person, whatever is imposed on them."""

from dataclasses import dataclass

from accounts.community.roles import Roles
from accounts.community.sanctions import Sanctions, Standing
from accounts.users.entities import NoSuchUser, Role, User
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_time, whole


@dataclass(frozen=True)
class Record:
    """A person as staff sees them. Nothing secret is in it. Times are unix seconds."""

    user: User
    role: Role
    standing: Standing | None  # what is imposed, with the appeal
    deleted: int | None  # since when; None for an account that is not deleted
    registered: int | None
    posts: int
    followers: int
    following: int
    bio: str
    language: str


class Records:
    """Reads people also when they are suspended or deleted."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, name: str) -> Record:
        """The person with this name. Five round trips at most. Raises NoSuchUser."""
        uid = Users(self._store).find(name)
        if uid is None:
            raise NoSuchUser(name)
        return self.read(uid)

    def read(self, uid: int) -> Record:
        """Four round trips at most. Raises NoSuchUser."""
        pipe = self._store.pipeline()
        fields = pipe.hmget(keys.user(uid), ["username", "name", "deleted", "bio", "language"])
        posts = pipe.zcard(keys.updates(uid))
        followers, following = pipe.zcard(keys.followers(uid)), pipe.zcard(keys.following(uid))
        pipe.execute()
        username, name, deleted, bio, language = fields.value
        if not username:
            raise NoSuchUser(str(uid))
        registered = self._store.zscore(keys.users_by_time(), username)
        standing = Sanctions(self._store).standing(uid)
        return Record(
            User(uid, username, name or ""),
            Roles(self._store).of(uid),
            standing,
            None if deleted is None else stored_time(keys.user(uid), deleted),
            None if registered is None else whole(registered),
            posts.value,
            followers.value,
            following.value,
            bio or "",
            language or "",
        )
