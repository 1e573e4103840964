"""Counts what a site holds, and finds what another Retwis has left in its accounts: one pass over all users."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from retwis_site.exceptions import StoreRefused
from retwis_site.maintenance.checks import AT_ONCE
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_ids, stored_time
from retwis_site.store.replies import Reply
from retwis_site.store.schema import State, examine, is_hash, looks_official

EXAMPLES = 5  # names that are told


@dataclass(frozen=True)
class _Account:
    """What is asked about a user."""

    updates: str  # the key
    fields: Reply[list[str | None]]  # username, password, deleted
    posts: Reply[int]
    follows: Reply[int]
    newest: Reply[list[str]]


@dataclass
class Census:
    """Iterate to count: first to read the names, then to count, AT_ONCE users a step. For each AT_ONCE users some three
    round trips. `len` estimates the steps. A user takes some 50 bytes of memory."""

    store: Store
    users: int = 0  # hashes with a username, without deleted accounts
    posts: int = 0
    follows: int = 0
    jobs: int = 0  # in the outbox
    newest_post: int | None = None  # unix seconds: the last of the times of the authors' newest posts
    posts_are_estimated: bool = False  # by the counter: the official Retwis has no `updates:` to count
    clear_text: int = 0  # passwords that are no hash of this site
    twins: set[str] = field(default_factory=set)  # names that differ from another name in letter case only
    refused: str = ""  # an error reply of the store: something is not counted
    _spelled: dict[str, str] = field(default_factory=dict, init=False)  # name in lower case -> uid

    def __len__(self) -> int:
        try:
            return self.store.hlen(keys.users()) // AT_ONCE * 2 + 2
        except StoreRefused:  # counting will be refused too, and reports it
            return 1

    def __iter__(self) -> Iterator[None]:
        try:
            uids = array("q")
            for chunk in self.store.hash_fields(keys.users(), AT_ONCE):
                uids.extend(self._owners(chunk))
                yield
            each_once = (uid for uid, _ in groupby(sorted(uids)))
            for some in batches(each_once, AT_ONCE):
                self._count(some)
                yield
            self._finish()
        except StoreRefused as error:
            self.refused = str(error)

    def certain(self, state: State) -> State:
        """The state of the store after all accounts were counted. One readable password is enough for a store without
        `schema` that looks official: `cleanup` would remove its posts. Up to three round trips."""
        if state is not State.OLDER or not self.clear_text:
            return state
        try:
            return State.FOREIGN if looks_official(self.store) else state
        except StoreRefused:  # a key of the wrong type
            return state

    def advice(self) -> list[Advice]:
        """What should change about the accounts."""
        pieces = []
        if self.clear_text:
            hint = "`manage.py adopt` replaces them by hashes, and people keep their passwords: docs/adopting.md"
            pieces.append(Advice("retwis.W011", f"Passwords in clear text: {self.clear_text}.", hint))
        if self.twins:
            names = ", ".join(sorted(self.twins)[:EXAMPLES])
            hint = "Only one of each can log in. `manage.py adopt` resolves them: docs/adopting.md"
            text = f"Names that differ from another one only in letter case: {len(self.twins)} (such as {names})."
            pieces.append(Advice("retwis.W012", text, hint))
        return pieces

    def _count(self, uids: Sequence[int]) -> None:
        """Count these users. When the store refuses, such as for a key of the wrong type, count them one by one."""
        try:
            self._count_together(uids)
        except StoreRefused as error:
            self.refused = str(error)
            for uid in uids if len(uids) > 1 else ():
                self._count([uid])

    def _count_together(self, uids: Sequence[int]) -> None:
        pipe = self.store.pipeline()
        accounts = [
            _Account(
                keys.updates(uid),
                pipe.hmget(keys.user(uid), ["username", "password", "deleted"]),
                pipe.zcard(keys.updates(uid)),
                pipe.zcard(keys.following(uid)),
                pipe.zrevrange(keys.updates(uid), 0, 0),
            )
            for uid in uids
        ]
        pipe.execute()
        newest = [pid for account in accounts for pid in stored_ids(account.updates, account.newest.value)]
        times = {pid: pipe.hget(keys.post(pid), "time") for pid in newest}
        pipe.execute()
        known = [stored_time(keys.post(pid), text.value) for pid, text in times.items()]
        self.newest_post = max([*known, self.newest_post or 0]) or None
        for account in accounts:
            username, password, deleted = account.fields.value
            self.users += username is not None and deleted is None
            self.posts += account.posts.value
            self.follows += account.follows.value
            self.clear_text += bool(password) and not is_hash(password or "")

    def _owners(self, chunk: list[tuple[str, str]]) -> list[int]:
        """The uids of a chunk of `users`, and notes twins. The site keeps names in lower case, so only names of another
        Retwis are asked for. An adopted database has them in lower case too: then they count once."""
        pipe = self.store.pipeline()
        capitals = {name: pipe.hget(keys.users(), name.lower()) for name, _ in chunk if name != name.lower()}
        pipe.execute()
        owners = []
        for name, number in chunk:
            lower = capitals[name].value if name in capitals else None
            if lower == number:
                continue
            if name in capitals and (lower is not None or self._spelled.setdefault(name.lower(), number) != number):
                self.twins.add(name)
            owners.append(number)
        return stored_ids(keys.users(), owners)

    def _finish(self) -> None:
        if not self.posts:
            self._estimate_posts()
        pipe = self.store.pipeline()
        jobs = [pipe.zcard(key) for key in keys.outbox.all()]
        pipe.execute()
        self.jobs = sum(number.value for number in jobs)

    def _estimate_posts(self) -> None:
        """By the counter: the official Retwis removes no post."""
        counter = stored_id(keys.next_post_id(), self.store.get(keys.next_post_id())) or 0
        body, when = self.store.hmget(keys.post(counter), ["body", "time"])
        if counter and body is not None:
            self.posts = counter
            self.posts_are_estimated = True
            self.newest_post = stored_time(keys.post(counter), when) or None


def examine_all(store: Store) -> State:
    """Like `schema.examine`, and certain: it looks at a few accounts of a store without `schema`, and this at all. One
    round trip more for each AT_ONCE users of such a store."""
    state = examine(store)
    if state is not State.OLDER:
        return state
    census = Census(store)
    for _ in census:
        pass
    return census.certain(state)
