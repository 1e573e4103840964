"""How each Retwis has stored people, follows, posts and likes, and which of them has written a database."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from django.utils.functional import cached_property

from retwis_site.rendering.dates import is_milliseconds, seconds_of, unix_seconds
from retwis_site.store.chunks import batches
from retwis_site.store.client import Handle, Pipe, Result, answers
from retwis_site.store.ids import parse_id
from timeline.other_retwises.source import (
    AT_ONCE,
    Account,
    CannotImport,
    ForeignEdge,
    ReplyTo,
    Source,
    SourcePost,
    ask_set,
    ask_sorted_set,
    edges,
    members,
    numbers,
    ranges,
)
from timeline.other_retwises.values import clear_text, official_text, official_text_or_hash, php_hash, salted_md5

FieldTexts = Sequence[str | None]  # the values of some fields


class Layout:
    """Reads one layout. Most have a hash for each person and each post, and a set or a sorted set of follows: they only
    say which. People and posts come in chunks of at most AT_ONCE, and no more posts than one chunk are held."""

    name: str  # for --layout
    title: str
    mark: str  # the SCAN pattern of a key that no other layout has

    person = "user:"  # the key of a person, before the uid
    person_fields: Sequence[str]
    following = "following:{}"
    ask_following = staticmethod(ask_sorted_set)
    post = "post:"  # the key of a post, before the id
    post_fields: Sequence[str]  # its text, author and time, and what else a layout reads

    def __init__(self, source: Source) -> None:
        self._source = source
        self._problems = source.problems

    def account(self, uid: int, record: FieldTexts) -> Account:
        """A person, from the values of `person_fields`."""
        raise NotImplementedError

    def accounts(self) -> Iterator[list[Account]]:
        """Every person. It may be called again."""
        for uids in self._uids_of_people():
            yield [self.account(uid, record) for uid, record in self._records(self.person, uids, self.person_fields)]

    def follows(self, uids: Sequence[int]) -> Iterator[ForeignEdge]:
        """Whom these people follow."""
        return edges(self._source, self.following.format, uids, self.ask_following)

    def posts(self) -> Iterator[list[SourcePost]]:
        """Every post, by ascending id."""
        for pids in ranges(self._pids()):
            yield self._some_posts(pids)

    def _some_posts(self, pids: Sequence[int]) -> list[SourcePost]:
        records = self._records(self.post, pids, self.post_fields)
        replies, posts = self._replies(records), []
        for pid, (text, author, time, *more) in records:
            if text is not None:
                posts.append(SourcePost(pid, parse_id(author or ""), unix_seconds(time), text, replies.get(pid)))
            elif any(other is not None for other in (author, time, *more)):
                self._problems.note("posts without a text", f"post {pid}")
        return posts

    def likes(self, uids: Sequence[int]) -> Iterator[ForeignEdge]:
        """What these people like."""
        return iter(())

    def _uids_of_people(self) -> Iterator[list[int]]:
        return numbers(self._source, self.person)

    def _pids(self) -> Iterator[list[int]]:
        return numbers(self._source, self.post)

    def _records(self, key: str, ids: Sequence[int], fields: Sequence[str]) -> list[tuple[int, FieldTexts]]:
        """One round trip."""
        records = answers(self._source, lambda pipe, number: self._ask_record(pipe, f"{key}{number}", fields), ids)
        return [*records.items()]

    def _ask_record(self, pipe: Pipe, key: str, fields: Sequence[str]) -> Handle[FieldTexts]:
        return pipe.hmget(key, fields)

    def _replies(self, records: Sequence[tuple[int, FieldTexts]]) -> Mapping[int, ReplyTo]:
        """What those of the posts reply to that are replies."""
        return {}


class Official(Layout):
    """The layout that this site's own is built on."""

    name, title, mark = "official", "official PHP, 2014", "next_user_id"
    person_fields = ("username", "password")
    post_fields = ("body", "user_id", "time")

    def accounts(self) -> Iterator[list[Account]]:
        for uids in self._uids_of_people():
            people = self._records(self.person, uids, self.person_fields)
            names = {name or "" for _, (name, _) in people}
            times = answers(self._source, lambda pipe, name: pipe.zscore("users_by_time", name), names)
            yield [
                Account(uid, name or "", official_text_or_hash(password), seconds_of(times[name or ""]))
                for uid, (name, password) in people
            ]


class Pytwis(Layout):
    """The official layout with other names for posts. Its hashes are Werkzeug's, which this site cannot verify; early
    versions had clear text."""

    name, title, mark = "pytwis", "pytwis", "next_tweet_id"
    person_fields = ("username", "password")
    post, post_fields = "tweet:", ("body", "userid", "unix_time")

    def account(self, uid: int, record: FieldTexts) -> Account:
        name, password = record
        return Account(uid, name or "", clear_text(password))


class RetwisSymfony(Layout):
    name, title, mark = "symfony", "retwis-symfony", "users:next_id"
    person_fields = ("username", "password", "registered", "name", "bio")
    post_fields = ("message", "author", "published")

    def account(self, uid: int, record: FieldTexts) -> Account:
        username, password, registered, name, bio = record
        return Account(uid, username or "", php_hash(password), unix_seconds(registered), name or "", bio or "")

    def likes(self, uids: Sequence[int]) -> Iterator[ForeignEdge]:
        return edges(self._source, "user:likes:{}".format, uids, ask_sorted_set)


class RedisInAction(Layout):
    """It has no passwords."""

    name, title, mark = "action", "Redis in Action, chapter 8", "user:id:"
    person_fields = ("login", "name", "signup")
    post, post_fields = "status:", ("message", "uid", "posted")

    def account(self, uid: int, record: FieldTexts) -> Account:
        login, name, signup = record
        return Account(uid, login or "", None, unix_seconds(signup), name or "")


# ---- Retwis-J


MOST_STEPS = 100  # from a reply up to a post whose thread is known
ROOTS_KEPT = 20_000  # posts whose thread is known; the oldest are forgotten first

ABSENT = "null"  # what Java writes for a missing reference


class RetwisJ(Layout):
    """The example of Spring Data Redis. It is the one Retwis with replies."""

    name, title, mark = "j", "Retwis-J", "global:uid"
    person, person_fields = "uid:", ("name", "pass")
    following, ask_following = "uid:{}:following", staticmethod(ask_set)
    post, post_fields = "pid:", ("content", "uid", "time", "replyPid")

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._roots: dict[int, int] = {}  # reply -> the first post of its thread

    def account(self, uid: int, record: FieldTexts) -> Account:
        name, password = record
        return Account(uid, name or "", clear_text(password))

    def _replies(self, records: Sequence[tuple[int, FieldTexts]]) -> dict[int, ReplyTo]:
        """Replies to posts that are not imported become plain posts."""
        parents = {pid: up for pid, (text, *_, up) in records if text is not None and up and up != ABSENT}
        answered = {pid: parent for pid, text in parents.items() if (parent := parse_id(text)) and parent < pid}
        authors = self._authors(sorted(set(answered.values())))
        people = self._people(set(authors.values()))
        replies = {}
        for pid in parents:
            parent = answered.get(pid, 0)
            author = authors.get(parent)
            if author is None:
                self._problems.note("replies to posts that do not exist", f"post {pid}")
            elif author not in people:
                self._problems.note("replies to posts without a known author", f"post {pid}")
            else:
                replies[pid] = ReplyTo(parent, self._root(pid, parent), author)
        return replies

    def _authors(self, pids: Sequence[int]) -> dict[int, int]:
        found = self._records(self.post, pids, ("uid", "content"))
        return {pid: uid for pid, (author, text) in found if text is not None and (uid := parse_id(author or ""))}

    def _people(self, uids: set[int]) -> set[int]:
        """Those of them who are imported."""
        return {uid for uid, (name,) in self._records(self.person, [*uids], ("name",)) if name}

    def _root(self, pid: int, parent: int) -> int:
        """The first post of the thread. Posts come by ascending id, so the thread of the parent is mostly known."""
        root = self._roots.get(parent)
        if root is None:
            root = self._climb(parent)
        self._roots[pid] = root
        if len(self._roots) > ROOTS_KEPT:
            del self._roots[next(iter(self._roots))]
        return root

    def _climb(self, pid: int) -> int:
        """The last post on the way up that is imported. An answered post has a lower id, so the way ends."""
        for _ in range(MOST_STEPS):
            if pid in self._roots:
                return self._roots[pid]
            parent = parse_id(self._source.hget(f"pid:{pid}", "replyPid") or "")
            if parent is None or parent >= pid or not self._people(set(self._authors([parent]).values())):
                return pid
            pid = parent
        self._problems.note("threads that are cut: too many replies to replies", f"post {pid}")
        return pid


# ---- Retwis-RB, and retwis-py, which has the same keys for other passwords and no times.
#
# The session keys of retwis-py hold pickles. Nothing reads them: a pickle can run any code.


PY_SALT = "retwis"  # before each password of retwis-py


class RetwisRb(Layout):
    """One string for each field of a person and of a post."""

    name, title, mark = "rb", "Retwis-RB", "user:id:*:salt"
    person = "user:id:"
    person_fields: Sequence[str] = ("username", "salt", "hashed_password")
    following, ask_following = "user:id:{}:followees", staticmethod(ask_set)
    post, post_fields = "post:id:", ("content", "user_id", "created_at")

    def account(self, uid: int, record: FieldTexts) -> Account:
        name, salt, digest = record
        return Account(uid, name or "", salted_md5(salt, digest))

    def accounts(self) -> Iterator[list[Account]]:
        """Those too of whom only the password is left, without a name."""
        yield from super().accounts()
        for uids in numbers(self._source, self.person, f":{self.person_fields[1]}"):
            people = self._records(self.person, uids, ("username",))
            yield [Account(uid, "") for uid, (name,) in people if name is None]

    def _uids_of_people(self) -> Iterator[list[int]]:
        return numbers(self._source, self.person, ":username")

    def _pids(self) -> Iterator[list[int]]:
        yield from numbers(self._source, self.post, ":content")
        yield from numbers(self._source, self.post, ":user_id")

    def _ask_record(self, pipe: Pipe, key: str, fields: Sequence[str]) -> Handle[FieldTexts]:
        asked = [pipe.get(f"{key}:{field}") for field in fields]
        return Result(lambda: [value.value for value in asked])


class RetwisPy(RetwisRb):
    """Its passwords are clear text after a fixed word."""

    name, title, mark = "py", "retwis-py", "user:id:*:password"
    person_fields = ("username", "password")

    def account(self, uid: int, record: FieldTexts) -> Account:
        name, stored = record
        typed = stored.removeprefix(PY_SALT) if stored and stored.startswith(PY_SALT) else None
        return Account(uid, name or "", clear_text(typed))


# ---- The official PHP of 2009 to 2011, and its dialects: django_retwis, Retwis-w-Predis, retwisn and RetwisJS.
#
# They agree on posts and follows, and differ in their lists, which are not read. RetwisJS has more parts in a post.


NAMED = "username:"
_OF_JS = re.compile(r"1\|(\d+)\|(\d+)\|[^|]*\|(\d+)\|(.*)", re.DOTALL | re.ASCII)  # 1|pid|uid|username|time|text
NAME_ENDINGS = (":id", ":uid")  # in the code, and in the article


class Php(Layout):
    """One string for each field of a person, and one string `author|time|text` for a post."""

    name, title, mark = "php", "official PHP, 2009 to 2011, and its dialects", "global:nextUserId"
    following, ask_following = "uid:{}:following", staticmethod(ask_set)

    @cached_property
    def _usernames(self) -> dict[int, str]:
        """By uid. From the people, and from the keys of names for people whose own name is gone."""
        found: dict[int, str] = {}
        for ending in NAME_ENDINGS:
            for names in self._source.scan_keys(f"{NAMED}*{ending}", AT_ONCE):
                owners = answers(self._source, lambda pipe, key: pipe.get(key), names)
                found |= {
                    uid: key[len(NAMED) : -len(ending)]
                    for key, owner in owners.items()
                    if (uid := parse_id(owner or "")) is not None
                }
        for uids in numbers(self._source, "uid:", ":username"):
            own = answers(self._source, lambda pipe, uid: pipe.get(f"uid:{uid}:username"), uids)
            found |= {uid: name for uid, name in own.items() if name}
        return found

    @cached_property
    def _uids(self) -> dict[str, int]:
        return {name: uid for uid, name in self._usernames.items()}

    def accounts(self) -> Iterator[list[Account]]:
        for uids in batches(sorted(self._usernames), AT_ONCE):
            stored = answers(self._source, lambda pipe, uid: pipe.get(f"uid:{uid}:password"), uids)
            yield [Account(uid, self._usernames[uid], official_text(password)) for uid, password in stored.items()]

    def _some_posts(self, pids: Sequence[int]) -> list[SourcePost]:
        stored = answers(self._source, lambda pipe, pid: pipe.get(f"{self.post}{pid}"), pids)
        posts = (self._post(pid, text) for pid, text in stored.items() if text is not None)
        return [post for post in posts if post is not None]

    def _post(self, pid: int, stored: str) -> SourcePost | None:
        of_js = _OF_JS.fullmatch(stored)
        if of_js and of_js[1] == str(pid):  # else the second part is a time
            return SourcePost(pid, parse_id(of_js[2]), unix_seconds(of_js[3]), of_js[4])
        parts = stored.split("|", 2)  # the text may have further bars
        if len(parts) < 3:
            self._problems.note("posts that are not author|time|text", f"post {pid}")
            return None
        author, time, text = parts
        return SourcePost(pid, self._author(author, time), unix_seconds(time), text)

    def _author(self, author: str, time: str) -> int | None:
        """Retwisn writes names and milliseconds, the others uids and seconds. A name may be a number."""
        by_name, by_id = self._uids.get(author), parse_id(author or "")
        if is_milliseconds(time):
            return by_name if by_name is not None else by_id
        return by_id if by_id in self._usernames else by_name


# ---- The design of "Designing Twitter Clone in Redis". Names are the ids of people, so people get new uids.
#
# Its lists of posts are cut into chunks, and old chunks may be gone. So posts are found by their own keys.


OWNER = "twtr:post_owner:"
FOLLOWS = ("follows", "following")  # in the article's text, and in its example
FOLLOWERS = "followers"
RANGES_AT_ONCE = 100  # of posts: the posts without `post_owner` in this many are held together

# A name may have colons. So a key is known by its end.
_LISTS = r"(?:timeline:)?(?:lists|list_next|list:\d+|list:current)|timeline:current"
_KEY = re.compile(
    rf"twtr:(.+?):(?:follows|following|followers|post:\d+(?::created_at)?|{_LISTS})\Z", re.DOTALL | re.ASCII
)
_POST = re.compile(r"twtr:(.+?):post:(\d+)\Z", re.DOTALL | re.ASCII)
_COMPACT = re.compile(  # timestamp|text
    r"(\d{9,13}(?:\.\d+)?|\d{4}-\d\d-\d\d[ T][^|]{1,30})\|(.*)", re.DOTALL | re.ASCII
)

Follow = tuple[str, str]  # the names of the follower and of the followed


class Twtr(Layout):
    """Names in the keys of everything. There are no passwords."""

    name, title, mark = "twtr", "Designing Twitter Clone in Redis", "twtr:*"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._with_strays: set[int] = set()  # ranges that have posts without `post_owner`, by their number

    @cached_property
    def _uids(self) -> dict[str, int]:
        """By name, counted in the order of the names."""
        names: set[str] = set()
        for keys in self._source.scan_keys("twtr:*", AT_ONCE):
            names |= {match[1] for key in keys if (match := _KEY.match(key))}
        return {name: uid for uid, name in enumerate(sorted(names), 1)}

    @cached_property
    def _names(self) -> dict[int, str]:
        return {uid: name for name, uid in self._uids.items()}

    def accounts(self) -> Iterator[list[Account]]:
        for uids in batches(sorted(self._names), AT_ONCE):
            yield [Account(uid, self._names[uid]) for uid in uids]

    def follows(self, uids: Sequence[int]) -> Iterator[ForeignEdge]:
        """Each follow once, also when it is in several of the three sets. One round trip more for each AT_ONCE members
        of the second and the third set."""
        for done, kind in enumerate(FOLLOWS):
            for chunk in batches(members(self._source, partial(self._key, kind), uids, ask_set), AT_ONCE):
                yield from self._edges(self._new(FOLLOWS[:done], [(self._names[uid], name) for uid, name, _ in chunk]))
        for chunk in batches(members(self._source, partial(self._key, FOLLOWERS), uids, ask_set), AT_ONCE):
            yield from self._edges(self._new(FOLLOWS, [(name, self._names[uid]) for uid, name, _ in chunk]))

    def _new(self, kinds: Sequence[str], follows: list[Follow]) -> list[Follow]:
        """Those that are in no set of these kinds."""
        with self._source.pipeline() as pipe:
            asked = [[pipe.send("SISMEMBER", f"twtr:{one}:{kind}", other) for kind in kinds] for one, other in follows]
        return [follow for follow, known in zip(follows, asked, strict=True) if not any(reply.value for reply in known)]

    def _edges(self, follows: list[Follow]) -> Iterator[ForeignEdge]:
        for one, other in follows:
            if one in self._uids and other in self._uids:
                yield ForeignEdge(self._uids[one], self._uids[other], None)
            else:
                self._problems.note("follows of unknown people", f"{one} follows {other}")

    def _key(self, kind: str, uid: int) -> str:
        return f"twtr:{self._names[uid]}:{kind}"

    def posts(self) -> Iterator[list[SourcePost]]:
        for some in batches(list(ranges(self._pids())), RANGES_AT_ONCE):
            strays = self._strays({pids.start // AT_ONCE for pids in some} & self._with_strays)
            for pids in some:
                owners = answers(self._source, lambda pipe, pid: pipe.get(f"{OWNER}{pid}"), pids)
                yield self._read([(pid, name) for pid, owner in owners.items() if (name := owner or strays.get(pid))])

    def _pids(self) -> Iterator[list[int]]:
        """The ids of all posts. Afterwards it is known which ranges have strays."""
        yield from numbers(self._source, OWNER)
        for keys in self._source.scan_keys("twtr:*:post:*", AT_ONCE):
            pids = [pid for key in keys if (match := _POST.match(key)) and (pid := parse_id(match[2]))]
            owners = answers(self._source, lambda pipe, pid: pipe.get(f"{OWNER}{pid}"), pids)
            self._with_strays |= {pid // AT_ONCE for pid, owner in owners.items() if not owner}
            yield pids

    def _strays(self, parts: set[int]) -> dict[int, str]:
        """The names in the keys of all posts of these ranges. It reads every key of a post."""
        found = {}
        for keys in self._source.scan_keys("twtr:*:post:*", AT_ONCE) if parts else ():
            for key in keys:
                match = _POST.match(key)
                pid = parse_id(match[2]) if match else None
                if match and pid and pid // AT_ONCE in parts:
                    found[pid] = match[1]
        return found

    def _read(self, owned: list[tuple[int, str]]) -> list[SourcePost]:
        with self._source.pipeline() as pipe:
            asked = [
                (pid, name, pipe.get(f"twtr:{name}:post:{pid}"), pipe.get(f"twtr:{name}:post:{pid}:created_at"))
                for pid, name in owned
            ]
        posts = []
        for pid, name, text, created_at in asked:
            if text.value is None:
                self._problems.note("posts whose text is gone", f"post {pid}")
            else:
                posts.append(self._post(pid, name, text.value, created_at.value))
        return posts

    def _post(self, pid: int, name: str, text: str, created_at: str | None) -> SourcePost:
        compact = _COMPACT.match(text) if created_at is None else None
        if compact and unix_seconds(compact[1]) is not None:
            created_at, text = compact[1], compact[2]
        return SourcePost(pid, self._uids.get(name), unix_seconds(created_at), text)


# ---- Which Retwis has written a database.


LAYOUTS = {
    layout.name: layout
    for layout in (Official, Pytwis, Php, Twtr, RetwisRb, RetwisPy, RetwisJ, RedisInAction, RetwisSymfony)
}
OWN_KEYS = ("schema", "users_by_name", "outbox")  # no other Retwis has them


def refuse_own(source: Source) -> None:
    """Raises CannotImport for a database of this site, also for one that is half adopted. One round trip."""
    types = answers(source, lambda pipe, key: pipe.type(key), OWN_KEYS)
    found = [name for name, type_ in types.items() if type_ != "none"]
    if found:
        raise CannotImport(
            f"--from names a database of this site, or one that `manage.py adopt` has begun with: it has the key "
            f"{found[0]}. Use `manage.py db copy --from` for it; finish `adopt` there before."
        )


def detect(source: Source) -> type[Layout]:
    """The one layout whose mark the source has. Raises CannotImport for none and for several. One round trip for the
    marks that are keys; each pattern costs one for each AT_ONCE keys of the source."""
    found = [layout for layout, marked in zip(LAYOUTS.values(), _marked(source), strict=True) if marked]
    if found == [Official, Pytwis]:  # pytwis has the key of the official one, too
        return Pytwis
    if len(found) == 1:
        return found[0]
    names = ", ".join(LAYOUTS)
    if not found:
        marks = ", ".join(layout.mark for layout in LAYOUTS.values())
        raise CannotImport(
            f"--from has none of the keys by which layouts are known ({marks}). Check its host and its database "
            f"number, or name the layout: --layout with one of {names}."
        )
    listed = ", ".join(f"{layout.name} (by {layout.mark})" for layout in found)
    raise CannotImport(f"--from has keys of several layouts: {listed}. Name the one to import with --layout.")


def _marked(source: Source) -> Iterator[bool]:
    """Whether the source has the mark of each layout, in their order."""
    plain = [layout.mark for layout in LAYOUTS.values() if "*" not in layout.mark]
    types = answers(source, lambda pipe, key: pipe.type(key), plain)
    for layout in LAYOUTS.values():
        yield types[layout.mark] != "none" if layout.mark in types else any(source.scan_keys(layout.mark, AT_ONCE))
