"""What a feature adds to the site. `FEATURES` in settings.py lists the features; nothing is found by scanning.

A feature is a folder with a `feature.py`, which has one `FEATURE`. The rest of the site asks `features()`: the worker
for jobs, `doctor` for checks, the log-out view for cookies. So no lower package has to name a higher one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, reverse
from django.utils.module_loading import import_string

from retwis_site.fair_queue import FairQueue
from retwis_site.http.cookies import PersonalCookie
from retwis_site.http.form_fields import FormField
from retwis_site.jobs.outbox import BatchHandler, JobHandler
from retwis_site.maintenance.checks import Check, Searcher
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store.chunks import Writes
from retwis_site.store.client import Handle, Pipe, Result, Scored, Store
from retwis_site.store.connection import topology
from retwis_site.store.ids import note_bad, parse_number
from retwis_site.store.kinds import KINDS, OfId, One
from retwis_site.store.rate_limits import Limit

# Forms with pictures, which take some tenths of a second each, in a process of their own.
UPLOADS = FairQueue(at_once=2, waiting=20)
A_TEXT = 32 * 1024  # bytes of a form: one without pictures is smaller
# In a form: that a file was chosen. A browser sends `filename=""` for none, and clients may write it in other ways.
_names_file = re.compile(rb';[^;="]*filename(?!=""(?:;|\r\n))', re.IGNORECASE).search


class Owner(Protocol):
    """The user whose data is downloaded."""

    @property
    def uid(self) -> int: ...
    @property
    def username(self) -> str: ...


Line = dict[str, Any]  # one line of the personal download, or of the file of a whole site
AddressOf = Callable[..., str]  # a whole address, from the name of a view and its arguments
AccountLines = Callable[[Store, Owner, AddressOf], Iterator[list[Line]]]  # in chunks
AskNumber = Callable[[Pipe, int], Handle[int]]  # asks for a number about the user with this uid


class Use(Enum):
    """What has become of that for which a picture was meant."""

    SHOWN = auto()
    ENDED = auto()  # it is deleted, or shows another picture
    UNKNOWN = auto()  # it is not there yet, or never comes


AskUse = Callable[[Pipe, str, int, int], Handle[Use]]  # of a digest, a uid and an id
JobsOn = Callable[[int, str], set[str]]  # uid, member of a set -> beginnings of the jobs that may be at work on it


@dataclass(frozen=True)
class LineField:
    """What a field of a line holds. `what` says it in an error, such as "an id"."""

    what: str
    accepts: Callable[[object], bool]
    required: bool = True


def _nothing(store: Store) -> list[Any]:
    return []


@dataclass(frozen=True)
class SiteLines:
    """The lines of one type in the file of a whole site: how they are read from this site, and written into a store
    without people. `Filling` writes them; docs/export.md describes them."""

    type: str
    fields: Callable[[Line], Mapping[str, LineField]]  # those that this line must or may have; others are skipped
    read: Callable[[Store], Iterator[Line]]  # without their type, always in the same order
    write: Callable[[Writes, Sequence[Line]], None]  # at most 500 lines; can run twice
    unique: Sequence[str] = ()  # fields whose value no two lines share, in any letter case
    users: Sequence[str] = ()  # fields with the id of a user; a line about an unknown or deleted user is dropped
    posts: Sequence[str] = ()  # fields with the id of a post; a line about an unknown or deleted post is dropped
    counter: Callable[[], str] | None = None  # the key that counts the ids of these lines
    at_once: int = 500  # lines that are read together; fewer where a line is long
    # After all lines of all types; can run twice. Yields now and then, where it takes long.
    finish: Callable[[Store], Iterable[None]] = lambda store: ()


@dataclass(frozen=True)
class Feature:
    """All that a feature declares. Every part may be left out."""

    urls: str = ""  # the module that has its `urlpatterns`
    # By method and name of the address, requests that take much work. They wait in a queue, and nothing waits for them.
    slow_views: Mapping[tuple[str, str], FairQueue] = field(default_factory=dict)
    jobs: Mapping[str, JobHandler] = field(default_factory=dict)  # by kind: what a worker does for it
    former_jobs: Mapping[str, str] = field(default_factory=dict)  # kinds as earlier versions called them -> as now
    # By kind, for how many seconds at most a job is put off, where that may be more than a lease. `doctor` carries out
    # what is put off for longer: a clock was ahead. None: it leaves all of them alone until they are due.
    put_off: Mapping[str, float] | None = None
    batches: Mapping[str, BatchHandler] = field(default_factory=dict)  # the same, for many short jobs at once
    limits: Sequence[Limit] = ()
    # `doctor` runs their checks in this order, and in that of FEATURES. A check that relies on the repairs of those
    # before it says `after`.
    searchers: Sequence[Callable[[Store], Searcher]] = ()
    advice: Callable[[Store], list[Advice]] = _nothing  # what `doctor` tells the operator to do
    adoption: Callable[[Store], list[Check]] = _nothing  # what `adopt` changes in a database of the official Retwis
    # By name, numbers about the signed-in user for every page: `request.viewer.checked.numbers`. The round trip that
    # checks the viewer asks for them; at most two commands each.
    viewer_numbers: Mapping[str, AskNumber] = field(default_factory=dict)
    # By the name of the list, the sorted set of what waits for a decision of staff. Their number is asked for in the
    # same round trip, for staff alone.
    waiting: Mapping[str, One] = field(default_factory=dict)
    # What staff finds behind "More" of a person, or of a post of theirs: HTML, from the request, the person and the id
    # of the post. It may make round trips of its own. Others ask nothing.
    staff_menu: Callable[[Any, Any, int | None], str] | None = None
    account_lines: AccountLines | None = None  # for the personal download
    site_lines: Sequence[SiteLines] = ()  # for the file of the whole site; a type may name what types before it have
    relations: Sequence[Any] = ()  # `Relation` of timeline/relations: what users do with people and posts
    account_sets: Mapping[OfId, JobsOn] = field(default_factory=dict)  # those whose jobs the key table cannot say
    # What a worker removes with a deleted account: a step for each removed chunk, none when nothing is left. It runs
    # from the last feature to the first: what is built on an account goes before the account.
    remove_account: Callable[[Store, int], Iterable[object]] | None = None
    # What a worker does when staff has hidden or suspended a person, or shows them again: numbers follow. By the kind
    # of a sorted set of ids that the person has, what follows from a chunk of it, the newest first; it can run twice.
    recount: Callable[[Store, int], Mapping[OfId, Callable[[Scored], None]]] | None = None
    # What follows when the line of an act of staff about a person is written, such as that they are told. The job of
    # the act stands meanwhile; it can run twice.
    after_act: Callable[[Store, Any], None] | None = None
    # By kind, whether something of a user still shows a picture: `media_users:<digest>` names it by kind, uid and id.
    picture_uses: Mapping[str, AskUse] = field(default_factory=dict)
    # Addresses whose forms may have pictures, so that their bodies may be large: names, or paths of a view with many.
    uploads: Sequence[str] = ()
    form_fields: Mapping[str, Sequence[FormField]] = field(default_factory=dict)  # by the name of the form's address
    # What error pages show of a signed-in user in the frame, without a round trip; empty for everyone else.
    frame_of_errors: Callable[[HttpRequest], Mapping[str, Any]] | None = None
    cookies: Sequence[PersonalCookie] = ()
    # The name of the page to which a new account comes first; the last feature that says one is followed.
    first_page: str = ""
    after_login: Callable[[HttpRequest, HttpResponse, int], None] | None = None  # may set cookies for this uid
    # What `serve` does first on the embedded server. The second argument prints a line at once; the returned text is
    # printed below the address of the site.
    before_serving: Callable[[Store, Callable[[str], None]], str] | None = None


@cache
def features() -> tuple[Feature, ...]:
    """In the order of FEATURES. Raises ImproperlyConfigured for a name that is no feature."""
    return tuple(_load(name) for name in settings.FEATURES)


def searchers(store: Store) -> list[Searcher]:
    """Those of all features."""
    return [searcher(store) for feature in features() for searcher in feature.searchers]


def account_sets() -> Mapping[OfId, JobsOn]:
    """The sorted sets of users: those of the key table, with what features say of them. Each is empty once the account
    is removed."""
    sets = [kind for kind in KINDS.values() if isinstance(kind, OfId) and kind.of_users and kind.type == "zset"]
    told = [each for feature in features() for each in feature.account_sets.items()]
    return {kind: kind.jobs_on for kind in sets} | dict(told)


@cache
def viewer_numbers() -> Mapping[str, AskNumber]:
    """The `viewer_numbers` of all features."""
    return {name: ask for feature in features() for name, ask in feature.viewer_numbers.items()}


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum; None where a number is not known."""
    known = [*numbers]
    return None if None in known else sum(filter(None, known))


def ask_waiting(pipe: Pipe) -> Result[Mapping[str, int | None]]:
    """How many things wait for a decision of staff, by the name of the list: those of all features. None where the key
    has the wrong type: else it would close each page to staff, and only to them."""
    lists = [(page, kind()) for feature in features() for page, kind in feature.waiting.items()]
    asked = [(page, key, pipe.zcard_or_none(key)) for page, key in lists]

    def read() -> Mapping[str, int | None]:
        found: dict[str, int | None] = {}
        for page, key, number in asked:
            if number.value is None:
                note_bad(key, "a key of the wrong type")
            found[page] = total([found.get(page, 0), number.value])
        return found

    return Result(read)


def frame_of_errors(request: HttpRequest) -> dict[str, Any]:
    """What all features know for the frame of an error page."""
    frames = [feature.frame_of_errors(request) for feature in features() if feature.frame_of_errors is not None]
    return {name: value for frame in frames for name, value in frame.items()}


def first_page() -> str:
    """The name of the page to which a new account comes first."""
    return [feature.first_page for feature in features() if feature.first_page][-1]


def require_right_settings() -> None:
    """What cannot be said of one setting alone: together they name a store, and each THROTTLE_<NAME> is a limit. No
    round trip. Raises ImproperlyConfigured."""
    topology.transport({})
    names = {limit.name for feature in features() for limit in feature.limits}
    if unknown := sorted(settings.THROTTLES.keys() - names):
        known = ", ".join(f"THROTTLE_{name.upper()}" for name in sorted(names))
        raise ImproperlyConfigured(f"THROTTLE_{unknown[0].upper()} is not known. There are: {known}.")


@cache
def site_lines() -> Mapping[str, SiteLines]:
    """The `site_lines` of all features by type, in the order of the file."""
    return {lines.type: lines for feature in features() for lines in feature.site_lines}


def queue_of(environ: Mapping[str, Any], body: bytes) -> FairQueue | None:
    """The queue in which a request waits; None for a request that takes little work. `environ`: of WSGI. A post without
    a picture waits for nobody. However few bytes a picture has, it may take all the work that one may take."""
    method, path = environ["REQUEST_METHOD"].upper(), environ["PATH_INFO"]
    queue = _queues().get((method, path))
    if queue is not None or not body or not is_upload(environ):
        return queue
    length = parse_number(environ["CONTENT_LENGTH"]) or 0
    may_have_picture = length > A_TEXT or _names_file(body) is not None
    return UPLOADS if may_have_picture and length <= settings.LARGEST_UPLOAD else None


def is_upload(environ: Mapping[str, Any]) -> bool:
    """Whether a request may have pictures: then its body may have LARGEST_UPLOAD bytes."""
    content_type: str = environ.get("CONTENT_TYPE") or ""
    return content_type.startswith("multipart/") and environ["PATH_INFO"] in _uploads()


@cache
def _queues() -> Mapping[tuple[str, str], FairQueue]:
    slow = [each for feature in features() for each in feature.slow_views.items()]
    return {(method, _path_to(view)): queue for (method, view), queue in slow}


@cache
def _uploads() -> frozenset[str]:
    return frozenset(_path_to(view) for feature in features() for view in feature.uploads)


def _path_to(view: str) -> str:
    """Within the site, without SCRIPT_NAME."""
    return view if view.startswith("/") else "/" + reverse(view).removeprefix(get_script_prefix())


def _load(name: str) -> Feature:
    try:
        found = import_string(f"{name}.feature.FEATURE")
    except ImportError as error:
        raise ImproperlyConfigured(f"FEATURES has {name!r}, but {name}/feature.py has no FEATURE: {error}") from error
    if not isinstance(found, Feature):
        raise ImproperlyConfigured(f"FEATURES has {name!r}, but its FEATURE is not a Feature.")
    return found
