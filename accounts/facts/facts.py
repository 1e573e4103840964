"""What a person tells on their profile beside the bio: up to four facts or links, each with a label.

`facts` in `user:<uid>` has them. A link that leads to a page which links back to the profile with `rel=me` is verified:
the page belongs to the same person. A worker looks at the pages when the profile was saved, and writes
`verified_links`.
"""

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings

from accounts.facts.fetching import DEADLINE, in_thread, linking_back
from accounts.users.entities import User
from accounts.users.names import NameIndex
from accounts.users.repository import Users
from retwis_site.exceptions import LeaseEnded
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.jobs.outbox import LEASE, PUT_OFF, Claim, Outbox, job_id
from retwis_site.rendering.dates import iso
from retwis_site.rendering.linking import digits_move_before, is_host
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, note_bad
from retwis_site.store.local_cache import Memory

MOST_FACTS = 4
LONGEST_LABEL = 30  # characters
LONGEST_VALUE = 200  # characters
FIELDS = ("facts", "verified_links")  # of `user:<uid>`


class Fact(NamedTuple):
    """One fact, such as "Pronouns: she/her" or "Website: https://ann.example/"."""

    label: str
    value: str
    verified: int | None = None  # unix seconds; None: the link was not verified

    @property
    def is_link(self) -> bool:
        """Whether the value is a whole web address, without a username and password, whose host is the one that people
        read: as in posts."""
        try:
            parts = urlsplit(self.value)
            host, port = (parts.hostname or "").removesuffix("."), parts.port  # a bad port raises ValueError
        except ValueError:
            return False
        is_whole = not any(char.isspace() or char in '<>"\\' for char in self.value)
        rest = f"{port or ''}{parts.path}{parts.query}{parts.fragment}"
        is_shown = is_host(host) and not digits_move_before(host, rest)
        return parts.scheme in ("http", "https") and "@" not in parts.netloc and is_whole and is_shown


# ---- As they are stored


def stored(facts: Sequence[Fact]) -> str:
    """The text of the field `facts`."""
    return json.dumps([[fact.label, fact.value] for fact in facts], ensure_ascii=False)


def facts_of(uid: int, text: str | None, verified: str | None) -> list[Fact]:
    """The facts of a user, from FIELDS. A bad value is skipped."""
    if text is None:  # as of most people
        return []
    since, pairs = _verified_of(uid, verified), _parsed(uid, text)
    good = [
        pair
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, list) and [*map(type, pair)] == [str, str]
    ]
    return [Fact(label, value, since.get(value)) for label, value in good[:MOST_FACTS]]


def _verified_of(uid: int, text: str | None) -> dict[str, int]:
    """Since when links are verified, in unix seconds, by their addresses."""
    links = _parsed(uid, text)
    return {link: when for link, when in links.items() if type(when) is int} if isinstance(links, dict) else {}


def _parsed(uid: int, text: str | None) -> object:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        note_bad(keys.user(uid), text or "")
        return None


# ---- Saving


def save_profile(store: Store, me: User, name: str, bio: str, facts: Sequence[Fact] | None, profile: str) -> None:
    """Change a user's display name, bio and facts (None: they stay); `me` as just read, `profile`: its address. A
    worker then looks at the links. Round trips as for `NameIndex.edit`, and two more with links.

    The job comes before the commit, and is due after it: a worker that looked sooner would see the old links."""
    text = None if facts is None else stored(facts)
    if not settings.LINK_CHECKS or not any(fact.is_link for fact in facts or ()):
        NameIndex(store).edit(me, name, bio, text)
        return
    job = Outbox(store).add(f"links:{me.uid}:{quote(profile, safe='')}:{nonce()}")
    NameIndex(job.store).edit(me, name, bio, text)
    with suppress(LeaseEnded):
        job.hand_over()


# ---- Looking: in threads, since a page may take all of DEADLINE. Meanwhile the worker goes on with other jobs.


LinksOf = tuple[int, str, str]  # which links are looked at: a uid, the address of the profile, and the field `facts`


class Look(NamedTuple):
    """A look at the pages of one member, until its job has fetched the answer."""

    job: str  # which has begun it, and comes again for the answer
    began: int  # unix seconds
    answer: Future[set[str]]


MOST_LOOKS = 8  # in a worker
PART_OF_A_TURN = 0.1  # that a job waits for an answer, before it comes again
JUST_NOW = 5  # seconds
_looks: dict[LinksOf, Look] = {}
# Of looks that have just ended: when they began, and the field `verified_links` as it was left. Of many saves at once
# the others need no look.
_ended: Memory[LinksOf, tuple[int, str | None]] = Memory(size=1000, seconds=JUST_NOW)


def check_links(store: Store, claim: Claim) -> object:
    """The job `links:<uid>:<address of the profile, quoted>:<nonce>`: look which pages link back. Returns False while
    they are asked, and when the links have changed meanwhile: then it comes again. PUT_OFF while there are MOST_LOOKS,
    or another job asks the same. Two round trips, those of `Users.write` when something has changed, and a request for
    each link, DEADLINE seconds for all at most. One round trip when this worker has just looked."""
    uid, profile = job_id(claim.name, 1), unquote(claim.name.split(":")[2])
    now = int(time.time())
    with store.pipeline() as pipe:
        fields, saved = pipe.hmget(keys.user(uid), FIELDS), pipe.zscore(keys.outbox(claim.name), claim.name)
    text, verified = fields.value
    asked = (uid, profile, text or "")
    began, left = _ended.get(asked) or (-1, None)
    if left == verified and (saved.value or 0) <= began:
        return True
    since, look = _verified_of(uid, verified), _looks.get(asked) or _begin(claim.name, now, asked)
    if look is None or (look.job != claim.name and not look.answer.done()):
        claim.outbox.add_for_later(claim.name, LEASE)
        return PUT_OFF
    try:
        found = look.answer.result(min(claim.turn * PART_OF_A_TURN, 2 * DEADLINE))
    except TimeoutError:
        return False
    finally:
        if look.answer.done():
            _looks.pop(asked, None)
    right = {link: since.get(link, now) for link in sorted(found)}
    if right != since:
        verified = json.dumps(right)
        Users(store).write(uid, {"verified_links": verified})
    _ended.put(asked, (look.began, verified))
    return store.hget(keys.user(uid), "facts") == text


def _begin(job: str, began: int, asked: LinksOf) -> Look | None:
    """Begin a look. None while there are too many; one whose answer nobody has fetched, since another worker has its
    job, makes room."""
    if len(_looks) >= MOST_LOOKS:
        for ended in [one for one, old in _looks.items() if old.answer.done()]:
            del _looks[ended]
    if len(_looks) >= MOST_LOOKS:
        return None
    uid, profile, text = asked
    links = {fact.value for fact in facts_of(uid, text, None) if fact.is_link}
    answer = in_thread(lambda: linking_back(links, profile) if settings.LINK_CHECKS else set())
    look = _looks[asked] = Look(job, began, answer)
    return look


# ---- The personal download


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """A line for each fact. One round trip."""
    text, verified = store.hmget(keys.user(owner.uid), FIELDS)
    for fact in facts_of(owner.uid, text, verified):
        when = None if fact.verified is None else iso(fact.verified)
        yield [{"type": "fact", "label": fact.label, "value": fact.value, "verified": when}]
