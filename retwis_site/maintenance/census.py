"""Counts what a site holds, and finds what another Retwis has left in its accounts: one pass over all users."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from retwis_site.exceptions import StoreRefused
from retwis_site.maintenance.checks import AT_ONCE
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Reply
from retwis_site.store.schema import State, examine, is_hash

EXAMPLES = 5  # names that are told


@dataclass(frozen=True)
class _Account:
    """What is asked about a user."""

    fields: Reply[list[str | None]]  # password, deleted
    posts: Reply[int]
    follows: Reply[int]
    newest: Reply[list[str]]


@dataclass
class Census:
    """Iterate to count, AT_ONCE users a step and round trip. `len` estimates the steps."""

    store: Store
    users: int = 0  # without deleted accounts
    posts: int = 0
    follows: int = 0
    jobs: int = 0  # in the outbox
    newest_post: int | None = None  # unix seconds
    posts_are_estimated: bool = False  # by the counter: the official Retwis has no `updates:` to count
    clear_text: int = 0  # passwords that are no hash of this site
    twins: set[str] = field(default_factory=set)  # names that differ from another name in letter case only
    refused: str = ""  # an error reply of the store: something is not counted
    _newest: int = field(default=0, init=False)  # pid
    _spelled: dict[str, str] = field(default_factory=dict, init=False)  # lower case -> a name with capitals

    def __len__(self) -> int:
        try:
            return self.store.hlen(keys.users()) // AT_ONCE + 1
        except StoreRefused:  # counting will be refused too, and reports it
            return 1

    def __iter__(self) -> Iterator[None]:
        try:
            for chunk in self.store.hash_fields(keys.users(), AT_ONCE):
                self._note_twins(chunk)
                self._count([uid for _, number in chunk if (uid := parse_id(number))])
                yield
            self._finish()
        except StoreRefused as error:  # such as for a key of the wrong type
            self.refused = str(error)

    def is_foreign(self) -> bool:
        """Whether the store has to be adopted before it is changed. To be asked after counting. Three round trips.

        A store without `schema` shows it by a readable password. `examine` looks at a few accounts; here all were
        looked at, since `cleanup` would remove the posts of an official database."""
        try:
            state = examine(self.store)
        except StoreRefused:  # such as for `users` of the wrong type, which has a check of its own
            return self.clear_text > 0
        return state is State.FOREIGN or (state is State.OLDER and self.clear_text > 0)

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

    def _count(self, uids: list[int]) -> None:
        pipe = self.store.pipeline()
        accounts = [
            _Account(
                pipe.hmget(keys.user(uid), ["password", "deleted"]),
                pipe.zcard(keys.updates(uid)),
                pipe.zcard(keys.following(uid)),
                pipe.zrevrange(keys.updates(uid), 0, 0),
            )
            for uid in uids
        ]
        pipe.execute()
        for account in accounts:
            password, deleted = account.fields.value
            self.users += deleted is None
            self.posts += account.posts.value
            self.follows += account.follows.value
            self.clear_text += bool(password) and not is_hash(password or "")
            self._newest = max([self._newest, *(parse_id(pid) or 0 for pid in account.newest.value)])

    def _note_twins(self, chunk: list[tuple[str, str]]) -> None:
        """The site keeps names in lower case, so only names of another Retwis are remembered or asked for."""
        capitals = [name for name, _ in chunk if name != name.lower()]
        pipe = self.store.pipeline()
        lower = [(name, pipe.hexists(keys.users(), name.lower())) for name in capitals]
        pipe.execute()
        for name, exists in lower:
            other = self._spelled.setdefault(name.lower(), name)
            if other != name or exists.value:
                self.twins.add(name)

    def _finish(self) -> None:
        if not self.posts and not self._newest:
            self._estimate_posts()
        pipe = self.store.pipeline()
        jobs = [pipe.zcard(key) for key in keys.outboxes()]
        when = pipe.hget(keys.post(self._newest), "time")
        pipe.execute()
        self.jobs = sum(number.value for number in jobs)
        self.newest_post = parse_id(when.value or "")

    def _estimate_posts(self) -> None:
        """By the counter: the official Retwis removes no post."""
        counter = parse_id(self.store.get(keys.next_post_id()) or "") or 0
        if counter and self.store.hexists(keys.post(counter), "body"):
            self.posts = self._newest = counter
            self.posts_are_estimated = True


def is_foreign(store: Store) -> bool:
    """Like `Census.is_foreign`, and counts only if the answer needs it."""
    state = examine(store)
    if state is not State.OLDER:
        return state is State.FOREIGN
    census = Census(store)
    for _ in census:
        pass
    return census.clear_text > 0
