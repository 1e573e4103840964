"""What `doctor` does: it counts, runs all checks, and reports. `cleanup` and `adopt` run checks in the same way."""

import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.conf import settings
from django.utils.timesince import timesince

from retwis_site.exceptions import LeaseEnded, StoreRefused
from retwis_site.features import features, searchers
from retwis_site.jobs.worker import OutboxChecks
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, KeyNames, KeysMade
from retwis_site.maintenance.key_checks import KeyChecks
from retwis_site.maintenance.server_advice import Advice
from retwis_site.rendering.dates import iso, moment_of
from retwis_site.store import keys
from retwis_site.store.chunks import batches, in_order
from retwis_site.store.client import Pipe, Reply, Store, answers, handles
from retwis_site.store.ids import integer, parse_id, stored_ids, stored_time
from retwis_site.store.schema import StoreState, examine, is_hash, looks_official

# ---- Counts what a site holds, and finds what another Retwis has left in its accounts: one pass over all users.


NAMES_TOLD = 5


@dataclass
class Census:
    """Iterate to count: first to read the names, then to count, AT_ONCE users a step. For each AT_ONCE users some three
    round trips. `steps` estimates their number. A user takes some 20 bytes of memory."""

    store: Store
    users: int = 0  # hashes with a username, without deleted accounts
    posts: int = 0
    follows: int = 0
    jobs: int = 0  # in the outbox
    pictures: int = 0
    picture_bytes: int = 0
    newest_post: int | None = None  # unix seconds: the last of the times of the authors' newest posts
    posts_are_estimated: bool = False  # by the counter: the official Retwis has no `updates:` to count
    clear_text: int = 0  # passwords that are no hash of this site
    twins: set[str] = field(default_factory=set)  # names that differ from another name in letter case only
    refused: str = ""  # an error reply of the store: something is not counted
    _spelled: dict[str, str] = field(default_factory=dict, init=False)  # name in lower case -> uid

    def steps(self) -> int:
        return self.store.hlen(keys.users()) // AT_ONCE * 2 + 2

    def __iter__(self) -> Iterator[None]:
        try:
            uids = array("q")
            for chunk in self.store.hash_fields(keys.users(), AT_ONCE):
                uids.extend(self._owners(chunk))
                yield
            each_once = (uid for uid, _ in groupby(in_order(uids)))
            for some in batches(each_once, AT_ONCE):
                self._count(some)
                yield
            self._finish()
        except StoreRefused as error:
            self.refused = str(error)

    def certain(self, state: StoreState) -> StoreState:
        """The state of the store after all accounts were counted. One readable password is enough for a store without
        `schema` that looks official: `cleanup` would remove its posts. Up to three round trips."""
        if state is not StoreState.OLDER or not self.clear_text:
            return state
        try:
            return StoreState.FOREIGN if looks_official(self.store) else state
        except StoreRefused:  # a key of the wrong type
            return state

    def advice(self) -> list[Advice]:
        """What should change about the accounts."""
        pieces = []
        if self.clear_text:
            hint = "`manage.py adopt` replaces them by hashes, and people keep their passwords: docs/adopting.md"
            pieces.append(Advice("retwis.W011", f"Passwords in clear text: {self.clear_text}.", hint))
        if self.twins:
            names = ", ".join(sorted(self.twins)[:NAMES_TOLD])
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
        asked = handles(self.store, _ask_counted, uids)
        newest = [pid for uid, (*_, pids) in asked.items() for pid in stored_ids(keys.updates(uid), pids.value)]
        times = answers(self.store, lambda pipe, pid: pipe.hget(keys.post(pid), "time"), newest)
        known = [stored_time(keys.post(pid), text) for pid, text in times.items()]
        self.newest_post = max([*known, self.newest_post or 0]) or None
        for fields, posts, follows, _ in asked.values():
            username, password, deleted = fields.value
            self.users += username is not None and deleted is None
            self.posts += posts.value
            self.follows += follows.value
            self.clear_text += bool(password) and not is_hash(password or "")

    def _owners(self, chunk: list[tuple[str, str]]) -> list[int]:
        """The uids of a chunk of `users`, and notes twins. The site keeps names in lower case, so only names of another
        Retwis are asked for. An adopted database has them in lower case too: then they count once."""
        others = [name for name, _ in chunk if name != name.lower()]
        capitals = answers(self.store, lambda pipe, name: pipe.hget(keys.users(), name.lower()), others)
        owners = []
        for name, number in chunk:
            lower = capitals.get(name)
            if lower == number:
                continue
            if name in capitals and (lower is not None or self._spelled.setdefault(name.lower(), number) != number):
                self.twins.add(name)
            owners.append(number)
        return stored_ids(keys.users(), owners)

    def _finish(self) -> None:
        if not self.posts:
            self._estimate_posts()
        for scored in self.store.zset_scored(keys.media_sizes(), AT_ONCE):
            self.pictures += len(scored)
            self.picture_bytes += sum(integer(size) for _, size in scored)
        self.jobs = sum(answers(self.store, lambda pipe, key: pipe.zcard(key), keys.outbox.all()).values())

    def _estimate_posts(self) -> None:
        """By the counter: the official Retwis removes no post."""
        counter = parse_id(self.store.get(keys.next_post_id()) or "") or 0
        body, when = self.store.hmget(keys.post(counter), ["body", "time"])
        if counter and body is not None:
            self.posts = counter
            self.posts_are_estimated = True
            self.newest_post = stored_time(keys.post(counter), when) or None


def _ask_counted(pipe: Pipe, uid: int) -> tuple[Reply[list[str | None]], Reply[int], Reply[int], Reply[list[str]]]:
    updates, fields = keys.updates(uid), ["username", "password", "deleted"]
    account, follows = pipe.hmget(keys.user(uid), fields), pipe.zcard(keys.following(uid))
    return account, pipe.zcard(updates), follows, pipe.zrevrange(updates, 0, 0)


def examine_all(store: Store) -> StoreState:
    """Like `schema.examine`, and certain: it looks at a few accounts of a store without `schema`, and this at all. One
    round trip more for each AT_ONCE users of such a store."""
    state = examine(store)
    if state is not StoreState.OLDER:
        return state
    census = Census(store)
    for _ in census:
        pass
    return census.certain(state)


# ---- All checks, and how they are run


def inconsistencies(store: Store, now: Callable[[], float] = time.time) -> list[Check]:
    """The checks of truth and mirrors; each may rely on those before it. `now`: by which jobs are overdue. No worker is
    at work in the copy of a store, so there the time stands still."""
    of_features = [check for one in searchers(store) for check in one.inconsistencies()]
    of_keys = KeyChecks(store)
    first = [of_keys.types(), of_keys.values(), *of_keys.counters_first()]
    return [*first, *OutboxChecks(store, now).inconsistencies(), *of_features, *of_keys.counters_last()]


def adoption(store: Store) -> list[Check]:
    """What `adopt` changes in a database of the official Retwis, before the repairs of `inconsistencies`."""
    return [KeyChecks(store).types(), *(check for feature in features() for check in feature.adoption(store))]


def orphans(store: Store) -> list[Check]:
    """The checks for keys and entries that crashes leave behind. They are harmless, and `cleanup` removes them."""
    of_features = [check for one in searchers(store) for check in one.orphans()]
    return [*of_features, *KeyChecks(store).orphans(), *OutboxChecks(store).orphans()]


@dataclass
class Examination:
    """A check, and what it has found so far. Iterate to run it, a chunk a step; `steps` estimates their number."""

    check: Check
    keys: KeyNames
    repairs: bool  # whether each finding is repaired at once
    found: int = 0
    repaired: int = 0
    examples: list[str] = field(default_factory=list)
    refused: str = ""  # what stopped the check: an error reply of the store, or another process at the same thing
    _is_over: bool = field(default=False, init=False)

    def steps(self) -> int:
        return self.keys.steps(self.check.of) + 1

    def __iter__(self) -> Iterator[None]:
        made = KeysMade()
        try:
            yield from self.keys.walk(self.check.of)
            for chunk in self._chunks():
                with made:
                    for finding in chunk:
                        self._note(finding)
                yield
        except (StoreRefused, LeaseEnded) as error:  # such as a key of the wrong type, which has a check of its own
            self.refused = str(error)
        self.keys.add(made)

    def _chunks(self) -> Chunks:
        for names in self.keys.names(self.check.of):
            yield from self.check.find(names)
            if self._is_over:
                return
        yield from self.check.at_end()

    def _note(self, finding: Finding) -> None:
        self.found += finding.number
        if len(self.examples) < self.check.most_told:
            self.examples.append(finding.what)
        if self.repairs and finding.repair is not None:
            finding.repair()
            self.repaired += finding.number
        self._is_over = self._is_over or finding.is_last

    def follow(self, earlier: "Examination") -> None:
        """Add what the same check has found in the round before. Only what is found now is left."""
        left = self.left
        self.found = max(self.found, earlier.found)
        self.repaired = self.found - left
        self.repairs = self.repairs or earlier.repairs
        told = dict.fromkeys((*earlier.examples, *self.examples))
        self.examples = [one for number, one in enumerate(told) if number < self.check.most_told]

    @property
    def left(self) -> int:
        """The number of findings that are not repaired."""
        return self.found - self.repaired

    def told(self) -> Iterator[str]:
        """In a line each: what is left, and that the check could not run."""
        if self.left:
            yield f"error: {self.check.label}: {self.left}"
        if self.refused:
            yield f"could not run: {self.check.label}: {self.refused}"


# ---- The report of `doctor`: as lines for people, and as JSON for programs.


FOREIGN = (
    "This store has to be adopted first: the official Retwis has written it. Nothing was checked or changed. "
    "See what would become of it with: manage.py adopt --dry-run (docs/adopting.md)"
)


@dataclass(frozen=True)
class DoctorReport:
    """What `doctor` has found. A foreign store has no examinations."""

    census: Census
    is_foreign: bool
    advice: list[Advice]
    errors: list[Examination] = field(default_factory=list)
    orphans: list[Examination] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything was checked and nothing is left to repair. Orphans and advice do not count."""
        return not (self.is_foreign or self._left or self._not_run)

    @property
    def _left(self) -> int:
        return sum(one.left for one in self.errors)

    @property
    def _not_run(self) -> list[tuple[str, str]]:
        """Label and reason of everything that the store refused to let run."""
        refused = [(one.check.label, one.refused) for one in (*self.errors, *self.orphans) if one.refused]
        return [("counts", self.census.refused), *refused] if self.census.refused else refused

    def lines(self) -> Iterator[str]:
        yield from _counts(self.census)
        for kind, examinations in (("error", self.errors), ("orphans", self.orphans)):
            for examination in examinations:
                if examination.found:
                    yield from _findings(kind, examination)
        for piece in self.advice:
            yield f"advice: {piece.text} {piece.hint}"
        for label, reason in self._not_run:
            yield f"could not run: {label}: {reason}"
        yield from [FOREIGN] if self.is_foreign else self._conclusion()

    def _conclusion(self) -> Iterator[str]:
        found, orphans = sum(one.found for one in self.errors), sum(one.left for one in self.orphans)
        if self._left:
            repairs = any(one.repairs for one in self.errors)
            fix = "The lines above say what to do." if repairs else "Fix them with: manage.py doctor --fix"
            yield f"errors: {self._left}. {fix}"
        elif found:
            yield f"errors: {found}, all fixed."
        else:
            yield "No errors in the checks that ran." if self._not_run else "No errors."
        if orphans:
            yield f"orphans: {orphans}. They are harmless. Remove them with: manage.py db cleanup"
        if self._not_run:
            fix = "Give the site's user the rights in docs/redis.md; fix the errors above; then run this again."
            yield f"checks that could not run: {len(self._not_run)}. {fix}"

    def as_json(self) -> dict[str, Any]:
        """`errors` and `debris` (the orphans): findings by check, with `Check.most_told` `examples` at most. `advice`:
        like system checks."""
        census = self.census
        pictures = {"pictures": census.pictures, "picture_bytes": census.picture_bytes} if census.pictures else {}
        return {
            "ok": self.ok,
            "foreign": self.is_foreign,
            "counts": {
                "users": census.users,
                "posts": census.posts,
                "follows": census.follows,
                "jobs": census.jobs,
                **pictures,
            },
            "posts_are_estimated": census.posts_are_estimated,
            "newest_post": None if census.newest_post is None else iso(census.newest_post),
            "errors": [_as_json(one) for one in self.errors if one.found or one.refused],
            "debris": [_as_json(one) for one in self.orphans if one.found or one.refused],
            "could_not_run": [{"check": label, "reason": reason} for label, reason in self._not_run],
            "advice": [{"id": one.id, "text": one.text, "hint": one.hint} for one in self.advice],
        }


def _counts(census: Census) -> Iterator[str]:
    about = "about " if census.posts_are_estimated else ""
    yield (
        f"users: {census.users}, posts: {about}{census.posts}, follows: {census.follows}, "
        f"jobs in the outbox: {census.jobs}"
    )
    if census.pictures:
        used, most = _megabytes(census.picture_bytes), _megabytes(settings.MEDIA_MEMORY)
        yield f"pictures: {census.pictures}, {used} of {most} MB (MEDIA_MEMORY)"
    if census.newest_post is not None:
        age = timesince(moment_of(census.newest_post), depth=1).replace("\xa0", " ")
        yield f"age of the newest post: {age}"


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f}"


def _findings(kind: str, examination: Examination) -> Iterator[str]:
    repaired = f", {examination.repaired} fixed" if examination.repairs else ""
    yield f"{kind}: {examination.check.label}: {examination.found}{repaired}"
    for example in examination.examples:
        yield f"    {example}"
    if examination.found > len(examination.examples):
        yield f"    ... and {examination.found - len(examination.examples)} more"


def _as_json(examination: Examination) -> dict[str, Any]:
    return {
        "check": examination.check.label,
        "found": examination.found,
        "repaired": examination.repaired,
        "examples": examination.examples,
        "stopped": examination.refused or None,
    }
