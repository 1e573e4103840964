"""What staff may know of a person, whatever is imposed on them; and what staff notes about a person, for itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.community.log import Act, read_act
from accounts.community.sanctions import SanctionCase, case_in
from accounts.media.profiles import Kind
from accounts.signing_in.sessions.entities import sessions_in
from accounts.users.deletion import is_deleted
from accounts.users.entities import NoSuchUser, Role, User
from accounts.users.repository import Users, role_of
from retwis_site.store import keys
from retwis_site.store.client import Repository
from retwis_site.store.ids import integer, parse_number, stored_digest, stored_time


@dataclass(frozen=True)
class Record:
    """A person as staff sees them. Nothing secret is in it. Times are unix seconds."""

    user: User
    role: Role
    standing: SanctionCase | None  # what is imposed, with the appeal
    deleted: int | None  # since when; None for an account that is not deleted
    registered: int | None
    posts: int  # without reposts
    followers: int
    following: int
    sessions: int
    invited_by: str | None  # a username; empty for the operator; None for a person who came without an invitation
    bio: str
    header: str  # the digest of the header; empty without one
    language: str


class Records(Repository):
    """Reads people also when they are suspended or deleted."""

    def find(self, name: str) -> Record:
        """The person with this name. Three round trips. Raises NoSuchUser."""
        uid = Users(self._store).find(name)
        if uid is None:
            raise NoSuchUser(name)
        return self.read(uid)

    def read(self, uid: int) -> Record:
        """Two round trips. Raises NoSuchUser."""
        pipe = self._store.pipeline()
        stored, role = pipe.hgetall(keys.user(uid)), pipe.hget(keys.staff(), str(uid))
        posts, reposts = pipe.zcard(keys.updates(uid)), pipe.zcard(keys.reposts(uid))
        followers, following = pipe.zcard(keys.followers(uid)), pipe.zcard(keys.following(uid))
        pipe.execute()
        fields = stored.value
        username, deleted = fields.get("username"), fields.get("deleted")
        if not username:
            raise NoSuchUser(str(uid))
        registered = pipe.zscore(keys.users_by_time(), username)
        inviter = parse_number(fields.get("invited_by", ""))
        inviter_name = pipe.hget(keys.user(inviter), "username") if inviter else None
        pipe.execute()
        return Record(
            user=User(
                uid,
                username,
                fields.get("name", ""),
                picture=stored_digest(keys.user(uid), fields.get(Kind.PICTURE)),
            ),
            role=role_of(uid, role.value),
            standing=case_in(uid, fields),
            deleted=None if deleted is None else stored_time(keys.user(uid), deleted),
            registered=None if registered.value is None else integer(registered.value),
            posts=posts.value - reposts.value,
            followers=followers.value,
            following=following.value,
            sessions=len(sessions_in(fields)),
            invited_by=None if inviter is None else (inviter_name.value or "") if inviter_name else "",
            bio=fields.get("bio", ""),
            header=stored_digest(keys.user(uid), fields.get(Kind.HEADER)),
            language=fields.get("language", ""),
        )


# ---- Notes. Staff alone reads them: no page and no download of the person has them.


NOTE = "note"  # what a note is called as an act
LONGEST_STAFF_NOTE = 1000  # characters
NOTES_SHOWN = 50


class StaffNotes(Repository):
    """The notes of staff about people."""

    def add(self, uid: int, by: int, text: str) -> None:
        """Note something about a person. Two round trips; three where the account is deleted: nothing stays then, as in
        `Log.write`."""
        note = Act(what=NOTE, whom=uid, by=by, reason=text)
        self._store.zadd(keys.staff_notes(uid), {note.line(): note.at})
        if is_deleted(self._store.hget(keys.user(uid), "deleted")):
            self._store.unlink(keys.staff_notes(uid))

    def about(self, uid: int) -> Sequence[Act]:
        """The newest notes about a person; `reason` has the text. One round trip."""
        key = keys.staff_notes(uid)
        lines = self._store.zrevrange(key, 0, NOTES_SHOWN - 1)
        return [note for line in lines if (note := read_act(key, line)) is not None]
