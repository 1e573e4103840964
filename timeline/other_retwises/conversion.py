"""What a reader found, as lines of a whole-site file: in the order user, follow, post, like, and in chunks.

Only people are held in memory: a name, a date and an id for each. Posts, follows and likes pass by.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from accounts.users.adoption import BEGINNING
from retwis_site.features import Line
from retwis_site.rendering.dates import iso
from retwis_site.store.chunks import batches
from timeline.other_retwises.layouts import Layout
from timeline.other_retwises.source import AT_ONCE, Account, ForeignEdge, Problems, SourcePost
from timeline.other_retwises.values import CLEAR_TEXT, ForeignPassword

# ---- Usernames of an import. Here, two names that differ only in letter case are one name; elsewhere they may be
# two.


@dataclass(frozen=True, slots=True)
class Person:
    """What is known of a person while the others are read."""

    uid: int
    username: str
    registered: int | None


@dataclass(frozen=True, slots=True)
class Renamed:
    """A person whose name someone else keeps."""

    uid: int
    before: str
    after: str


def renamed(people: Iterable[Person]) -> list[Renamed]:
    """Who needs another name, by ascending uid, and which.

    The person who registered first keeps the name; where no date is known, the one with the lowest uid. The others
    become `<name>_<uid>`, with the first BEGINNING characters of the name, as in an adopted database."""
    same: dict[str, list[Person]] = defaultdict(list)
    for person in people:
        same[person.username.lower()].append(person)
    taken = set(same)
    others = [person for group in same.values() for person in sorted(group, key=_priority)[1:]]
    found = []
    for person in sorted(others, key=lambda person: person.uid):
        name = _free_name(person, taken)
        taken.add(name.lower())
        found.append(Renamed(person.uid, person.username, name))
    return found


def _priority(person: Person) -> tuple[float, int]:
    return (inf if person.registered is None else person.registered, person.uid)


def _free_name(person: Person, taken: set[str]) -> str:
    """When someone has that name too, underscores follow it: a dry run tells what the import will do."""
    name = f"{person.username[:BEGINNING]}_{person.uid}"
    while name.lower() in taken:
        name += "_"
    return name


HASHED_AT_ONCE = 50  # passwords: a second of work, so that the progress bar moves
UNKNOWN_TIME = 0  # unix seconds

REPLACED = "texts with bytes that are not UTF-8, which are replaced"

Encode = Callable[[Sequence[ForeignPassword | None]], list[str | None]]


# ---- The conversion


class Conversion:
    """Iterate to get the lines, in chunks of at most AT_ONCE. Some are empty: they only show progress.

    Afterwards `counts` has the lines by type, `passwords` the people by the kind of their password, `replies` the posts
    that are replies, and `renamed` the people with another name."""

    def __init__(self, reader: Layout, problems: Problems, encode: Encode) -> None:
        self._reader = reader
        self._problems = problems
        self._encode = encode
        self._people: dict[int, Person] = {}
        self._usernames: dict[int, str] = {}  # of people with another name
        self._last_time = UNKNOWN_TIME
        self.renamed: list[Renamed] = []
        self.counts: Counter[str] = Counter()
        self.passwords: Counter[str] = Counter()
        self.replies = 0

    def __iter__(self) -> Iterator[list[Line]]:
        for lines in self._chunks():
            self.counts.update(line["type"] for line in lines)
            yield lines

    def _chunks(self) -> Iterator[list[Line]]:
        yield from self._read_people()
        yield from self._users()
        uids = sorted(self._people)
        for edges in batches(self._reader.follows(uids), AT_ONCE):
            yield [line for edge in edges for line in self._follow(edge)]
        for posts in self._reader.posts():
            yield [line for post in posts for line in self._post(post)]
        for edges in batches(self._reader.likes(uids), AT_ONCE):
            yield [line for edge in edges for line in self._like(edge)]

    # ---- people

    def _read_people(self) -> Iterator[list[Line]]:
        for accounts in self._reader.accounts():
            for account in accounts:
                name = self._text(account.username, f"the name of user {account.uid}")
                if name:
                    self._people[account.uid] = Person(account.uid, name, account.registered)
                else:
                    self._problems.note("people without a name", f"user {account.uid}")
            yield []
        self.renamed = renamed(self._people.values())
        self._usernames = {one.uid: one.after for one in self.renamed}

    def _users(self) -> Iterator[list[Line]]:
        """SCAN may give a key twice, so each person is taken once."""
        written: set[int] = set()
        for accounts in self._problems.unheard(self._reader.accounts()):
            new = {account.uid: account for account in accounts if account.uid in self._people} if accounts else {}
            fresh = [uid for uid in sorted(new) if uid not in written]
            written.update(fresh)
            for uids in batches(fresh, HASHED_AT_ONCE):
                encoded = self._encode([new[uid].password for uid in uids])
                yield [self._user(new[uid], password) for uid, password in zip(uids, encoded, strict=True)]

    def _user(self, account: Account, password: str | None) -> Line:
        self.passwords[account.password.kind if account.password else "none"] += 1
        person = self._people[account.uid]
        return {
            "type": "user",
            "id": account.uid,
            "username": self._usernames.get(account.uid, person.username),
            "password": password,
            "name": self._text(account.name, f"the display name of user {account.uid}"),
            "bio": self._text(account.bio, f"the bio of user {account.uid}"),
            "language": "",
            "registered": None if person.registered is None else iso(person.registered),
        }

    # ---- follows, posts and likes

    def _follow(self, edge: ForeignEdge) -> Iterator[Line]:
        """Without a time, the follow has the later of both registrations; without these, UNKNOWN_TIME."""
        follower, followed = self._people.get(edge.person), self._people.get(edge.target)
        if follower is None or followed is None:
            self._problems.note("follows of unknown people", f"user {edge.person} follows user {edge.target}")
        elif follower is followed:
            self._problems.note("follows of oneself", f"user {edge.person}")
        else:
            known = edge.time or max(follower.registered or UNKNOWN_TIME, followed.registered or UNKNOWN_TIME)
            yield {"type": "follow", "follower": edge.person, "followed": edge.target, "since": iso(known)}

    def _post(self, post: SourcePost) -> Iterator[Line]:
        """Without a time, a post has that of the post before it, by id; the first ones have UNKNOWN_TIME."""
        if post.author is None or post.author not in self._people:
            self._problems.note("posts without a known author", f"post {post.pid}")
            return
        if post.time is None:
            self._problems.note("posts without a time, which get that of the post before", f"post {post.pid}")
        self._last_time = self._last_time if post.time is None else post.time
        line: Line = {
            "type": "post",
            "id": post.pid,
            "user": post.author,
            "time": iso(self._last_time),
            "text": self._text(post.text, f"post {post.pid}"),
        }
        if post.reply is not None and post.reply.author in self._people:
            self.replies += 1
            line |= {"reply_to": post.reply.pid, "root": post.reply.root, "reply_to_user": post.reply.author}
        elif post.reply is not None:
            self._problems.note("replies to posts without a known author", f"post {post.pid}")
        yield line

    def _like(self, edge: ForeignEdge) -> Iterator[Line]:
        if edge.person in self._people:
            yield {"type": "like", "user": edge.person, "post": edge.target, "time": iso(edge.time or UNKNOWN_TIME)}

    def _text(self, text: str, where: str) -> str:
        """Text as UTF-8 can hold it. The source's other bytes were read as surrogates; each becomes U+FFFD."""
        try:
            text.encode()
        except UnicodeEncodeError:
            self._problems.note(REPLACED, where)
            return text.encode(errors="surrogateescape").decode(errors="replace")
        return text


# ---- What was imported


# The kind of a password -> what becomes of it.
PASSWORDS = {
    CLEAR_TEXT: "passwords hashed while importing",
    "argon2": "passwords taken over, as Argon2",
    "argon2trimmed": "passwords taken over, as Argon2 of an adopted account",
    "md5": "passwords kept as salted MD5 until the next login",
    "bcrypt": "passwords kept as bcrypt until the next login",
    "none": "people without a password that can be verified (`manage.py user password NAME` sets one)",
}


def summary(conversion: Conversion, problems: Problems, dropped: Counter[str]) -> Iterator[str]:
    """What was imported, the passwords by kind, and what was not imported and why. `dropped`: the lines that were not
    written, by type."""
    written = conversion.counts - dropped
    yield f"people: {written['user']}, follows: {written['follow']}, likes: {written['like']}"
    yield f"posts: {written['post']}, of these replies: {conversion.replies}"
    for kind, number in sorted(conversion.passwords.items()):
        yield f"{PASSWORDS[kind]}: {number}"
    for one in conversion.renamed:
        yield f"renamed: {one.before!r} (user {one.uid}) is now {one.after!r}; another user has that name"
    for kind, number in sorted(dropped.items()):
        if number:
            yield f"not imported: {kind} lines about unknown users or posts: {number}"
    for line in problems.lines():
        yield f"note: {line}"
