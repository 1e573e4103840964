"""The store client: the one place where commands leave the process.

`connect()` returns the process's `Store`. Its methods are the commands of `commands.py`, one round trip each.
`store.pipeline()` returns a `Pipe` with the same methods: it queues them. `execute()`, or the end of a `with` block,
sends them in one round trip.
Each queued command returns a handle of its reply: no code finds a reply by its place.
What takes several round trips is a reader, a generator that yields for each.
`recorder.py` records every round trip.

No command is ever sent twice. redis-py's own retries are off: after a lost reply, INCR or LPUSH would count or push
again. A failure is answered in this order, from the connection up:

1. `transport.Pool`: a restarted server has closed a connection that waits. It is replaced before use.
2. `transport.BorrowedConnection`: a reply did not come. The connection is cut, or the next command would read it.
3. `cluster.ClusterTransport`, `topology.ElectedPrimary`: another server may have the keys. They ask which one has.
4. `Store.failure`: the process does what protects the store and its users. The failure becomes a `StoreError`.

`Store.round_trip` is the seam for tests: every round trip goes through it. See `tests/support/stores/seam.py`.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import compress, dropwhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

import redis
from django.conf import settings
from django_redis import get_redis_connection

from retwis_site.exceptions import StoreError, StoreReadOnly
from retwis_site.store import kinds
from retwis_site.store.commands import OF_ANY_TYPE, Commands, Question
from retwis_site.store.connection import recorder, topology
from retwis_site.store.connection.failures import WRONG_TYPE, no_answer, no_answer_again, refusal
from retwis_site.store.connection.recorder import asked
from retwis_site.store.connection.transport import AS_SENT, Conversation, OneServer, Queue, Queued, Transport, pack
from retwis_site.store.schema import Gate

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
Scored = list[tuple[str, float]]  # members with their scores
MOST_LOOKED_AT = 2000  # keys, by one SCAN: up to 8 ms, in which the server does nothing else


# ---- Handles: `followers = pipe.zcard(key)` queues a command and returns one; after `pipe.execute()`, or the `with`
# block of the pipe, the number is `followers.value`. A page queues up to 60 commands, so a handle is one small object.


class NoReplyYet(Exception):
    """The value of a queued command was read before `execute()` had its reply."""


class Reply(Generic[T]):
    """The handle of a queued command. `execute()` sets its `value`."""

    __slots__ = ("value",)

    value: T

    if not TYPE_CHECKING:  # to mypy, any other name stays an error

        def __getattr__(self, name: str) -> object:
            """Called for a `value` that is not set. Raises NoReplyYet."""
            if name == "value":
                raise NoReplyYet("the command is queued, but has no reply yet: call execute() on its pipe first")
            raise AttributeError(name)


class Result(Generic[T]):
    """A handle of what is read from one or more replies: a user, from the fields of a hash."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], T]) -> None:
        """`read` reads the values of the replies. It is called once for each use of `value`."""
        self._read = read

    @property
    def value(self) -> T:
        """Raises NoReplyYet before `execute()`."""
        return self._read()


class Handle(Protocol[T_co]):
    """What has a value after the round trip: a `Reply` or a `Result`."""

    @property
    def value(self) -> T_co: ...


# ---- Pipes and stores


@dataclass(slots=True)
class Batch:
    """Queued commands, with the handles that get their replies."""

    queued: Queue = field(default_factory=Queue)
    handles: list[tuple[Reply[Any], int]] = field(default_factory=list)  # of one command each, with its place
    # One handle for several commands, and what its value is made of.
    parts: list[tuple[Reply[Any], slice, Callable[[list[Any]], Any]]] = field(default_factory=list)

    def fill(self, replies: list[Any]) -> None:
        for handle, place in self.handles:
            handle.value = replies[place]
        for handle, part, read in self.parts:
            handle.value = read(replies[part])


class Pipe(Commands):
    """Queues commands, to send them together. Each returns a `Reply`, whose `value` is set by `execute`.

    It is no transaction: other clients' commands may run between its own. A block sends what was queued in it at its
    end, in one round trip, and nothing when it raises: `with store.pipeline() as pipe:`."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._batch = Batch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self.execute()

    def send(self, *command: str | float | bytes, **options: Any) -> Reply[Any]:
        reply: Reply[Any] = Reply()
        batch = self._batch
        batch.handles.append((reply, len(batch.queued)))
        batch.queued.append((command, options))
        return reply

    def lpushx_each(self, keys: Sequence[str], value: str) -> Reply[list[int]]:
        """Queue an LPUSHX for each of many lists; the new lengths. It takes a third of the time of single `lpushx`
        calls."""
        return self._queue_each([(("LPUSHX", key, value), AS_SENT) for key in keys], list)

    def hgetall_each(self, keys: Sequence[str]) -> Reply[list[list[str]]]:
        """Queue an HGETALL for each of many hashes; of each, the fields and their values in turn, in one list. To ask
        for the same fields by their names takes three times as long."""
        return self._queue_each([(("HGETALL", key), AS_SENT) for key in keys], list)

    def zscore_each(self, places: Sequence[tuple[str, int]], read: Callable[[list[str | None]], T]) -> Reply[T]:
        """Queue a ZSCORE for each sorted set with one of its ids. `read` gets the scores, in the same order."""
        return self._queue_each([(("ZSCORE", key, member), AS_SENT) for key, member in places], read)

    def among(self, key: str, members: Sequence[str]) -> Reply[list[str]]:
        """Queue a ZMSCORE: those of these members that the sorted set has, without their scores."""
        queued = [(("ZMSCORE", key, *members), AS_SENT)]
        return self._queue_each(queued, lambda replies: [*compress(members, replies[0])])

    def ask(self, question: Question[T], uid: int) -> Reply[T]:
        """Queue the commands of a question about a user."""
        prefix = kinds.PREFIX
        queued = [((name, f"{prefix}{word}:{uid}", *rest), AS_SENT) for name, word, rest in question.parts]
        queue = self._batch.queued
        queue.packed += ((len(queue), len(queue) + len(queued), packed(question, prefix, uid)),)
        return self._queue_each(queued, partial(question.read, uid))

    def _queue_each(self, queued: Sequence[Queued], read: Callable[[list[Any]], T]) -> Reply[T]:
        reply: Reply[T] = Reply()
        batch = self._batch
        first = len(batch.queued)
        batch.queued += queued
        batch.parts.append((reply, slice(first, len(batch.queued)), read))
        return reply

    def execute(self) -> None:
        """Send the queued commands, and set the values of their handles. One round trip; none for an empty queue.

        Raises StoreError when the store did not answer or refused a command. Then the handles have no value.
        """
        if self._batch.queued:
            batch = self.take()
            batch.fill(self._store.exchange(batch.queued))

    @property
    def is_foreign(self) -> bool:
        """As for `Store`."""
        return self._store.is_foreign

    def take(self) -> Batch:
        """Empty the queue; returns what was queued, for a caller that sends it itself."""
        batch, self._batch = self._batch, Batch()
        return batch


def packed(question: Question[Any], prefix: str, uid: int) -> bytes:
    """The commands of a question as they are sent. To pack each of them takes four times as long."""
    text = b"%d" % uid
    around = question.around.get((prefix, len(text)))
    if around is None:
        mark = "\0" * len(text)
        commands = [pack((name, f"{prefix}{word}:{mark}", *rest)) for name, word, rest in question.parts]
        around = question.around[prefix, len(text)] = b"".join(commands).split(mark.encode())
    return text.join(around)


class _WatchedPipe(Pipe):
    """A pipe whose commands know who asked for them."""

    def send(self, *command: str | float | bytes, **options: Any) -> Reply[Any]:
        reply = super().send(*command, **options)
        self._batch.queued[-1] = (asked(command), options)
        return reply

    def _queue_each(self, queued: Sequence[Queued], read: Callable[[list[Any]], T]) -> Reply[T]:
        return super()._queue_each([(asked(command), options) for command, options in queued], read)


class Store(Commands):
    """The site's store. Each command is one round trip. Raises StoreError when the store does not answer or refuses."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.gate: Gate | None = None
        self._hangs_until = 0.0  # monotonic seconds; until then no command is sent

    @property
    def is_foreign(self) -> bool:
        """Whether the official Retwis has written the store. Known after a round trip."""
        return self.gate is not None and self.gate.is_foreign

    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        [reply] = self.exchange([(asked(command) if recorder.is_watched() else command, options)])
        return reply

    def exchange(self, queued: list[Queued]) -> list[Any]:
        """Send commands together; returns the replies in the same order. One round trip. Raises StoreError."""
        if self.gate is not None and not self.gate.is_open:
            self.gate.pass_(_names(queued))
        with self.round_trip([*map(itemgetter(0), queued)]):
            replies = self.transport.exchange(queued)
        return self.checked(queued, replies)

    def pipeline(self) -> Pipe:
        return _WatchedPipe(self) if recorder.is_watched() else Pipe(self)

    def round_trip(self, commands: list[recorder.Command]) -> "RecordedRoundTrip":
        """A block that sends these commands. They are recorded, and redis-py's errors in it become a StoreError."""
        return RecordedRoundTrip(self, commands)

    def stream(self, pipes: Iterable[Pipe]) -> Iterator[None]:
        """Sends each pipe, in one round trip, and yields when the values of its handles are set. Raises StoreError.

        The next pipe is made and sent while the server works on the pipe before it. So a pipe must not depend on the
        replies to the pipe just before it."""
        with _Failures(self):
            conversation = self.transport.conversation()
        ahead: Batch | None = None
        try:
            for pipe in pipes:
                batch = pipe.take()
                if self.gate is not None and not self.gate.is_open:
                    self.gate.pass_(_names(batch.queued))
                with self.round_trip([command for command, _ in batch.queued]):
                    conversation.write(batch.queued)
                last, ahead = ahead, batch
                if last is not None:
                    self._read(conversation, last)
                    yield
            last, ahead = ahead, None
            if last is not None:
                self._read(conversation, last)
                yield
        finally:
            if ahead is not None:  # its replies were not read
                conversation.cut()
            conversation.give_back()

    def _read(self, conversation: Conversation, batch: Batch) -> None:
        began = time.perf_counter()
        try:
            with _Failures(self):
                replies = conversation.read(batch.queued)
        except BaseException:  # `require` may have refused to read
            conversation.cut()
            raise
        recorder.add_seconds(time.perf_counter() - began)
        batch.fill(self.checked(batch.queued, replies))

    def checked(self, queued: Sequence[Queued], replies: list[Any]) -> list[Any]:
        """The replies to these commands. Raises StoreRefused when one is an error, for the first such reply."""
        for place, reply in enumerate(replies):
            if isinstance(reply, redis.ResponseError):
                command, options = queued[place]
                if OF_ANY_TYPE in options and str(reply).startswith(WRONG_TYPE):
                    replies[place] = None
                    continue
                raise self.failure(reply, str(command[0])) from reply
        return replies

    def failure(self, error: redis.RedisError, of: str = "the connection") -> StoreError:
        """The error to raise for one of redis-py, `of` a command or the connection. What this process does about it is
        done here, and nowhere else."""
        if not isinstance(error, redis.ResponseError):
            if isinstance(error, redis.TimeoutError):  # else each request would wait for its own timeout
                self._hangs_until = time.monotonic() + settings.REDIS_TIMEOUT
            return no_answer(error)
        if isinstance(error, redis.ReadOnlyError):
            self.transport.leave_replica()
        refused = refusal(of, error)
        if self.gate is not None and isinstance(refused, StoreReadOnly):  # it has the data that it had
            self.gate.is_open = False
        elif self.gate is not None:  # perhaps a proxy has lost a server: what answers next may hold other data
            self.gate.close()
        return refused

    # ---- for management commands and checks only: they read many keys, or ask the server about itself

    def scan_keys(self, pattern: str, count: int) -> Iterator[list[str]]:
        """Every key that matches, in chunks of at most about `count`. A key may come twice. One round trip for each
        `count` keys of the site; where few match, for up to MOST_LOOKED_AT."""
        for server in self.servers():
            cursor, looked_at = None, count
            while cursor != 0:
                cursor, names = server.send("SCAN", cursor or 0, "MATCH", pattern, "COUNT", looked_at)
                yield names
                looked_at = count if len(names) * 2 > count else min(looked_at * 2, MOST_LOOKED_AT)

    def hash_fields(self, key: str, count: int) -> Iterator[list[tuple[str, str]]]:
        """Every field of a hash with its value, in chunks of about `count`. A field may come twice. One round trip a
        chunk."""
        return (list(fields.items()) for fields in _chunks(lambda cursor: self.hscan(key, cursor, count)))

    def zset_scored(self, key: str, count: int) -> Iterator[Scored]:
        """Every member of a sorted set with its score, in chunks of about `count`. A member may come twice. One round
        trip a chunk."""
        return _chunks(lambda cursor: self.zscan(key, cursor, count))

    def zset_members(self, key: str, count: int) -> Iterator[list[str]]:
        """Like `zset_scored`, without the scores."""
        return ([member for member, _ in scored] for scored in self.zset_scored(key, count))

    def zset_ranks(self, key: str, count: int) -> Iterator[list[str]]:
        """Like `zset_members`, by rank, where members keep their scores: it takes a tenth of the server's time. One
        round trip a chunk.

        Each read begins with the last members of the read before it. They show how far the others have moved up since
        some were removed: so none is left out. When all of them have moved away, every member comes again."""
        overlap = max(1, count // 16)
        first, known = 0, frozenset[str]()
        while True:
            members = self.zrange(key, first, first + count - 1)
            new = list(dropwhile(known.__contains__, members))
            if known and new == members:
                yield from self.zset_members(key, count)
                return
            yield new
            if len(members) < count:
                return
            first, known = first + count - overlap, frozenset(members[-overlap:])

    def dbsize(self) -> int:
        """The number of all keys, also those that do not belong to the site. One round trip a server."""
        return sum(int(server.send("DBSIZE")) for server in self.servers())

    def info(self) -> list[dict[str, Any]]:
        """The INFO of each server. One round trip a server."""
        return [server.send("INFO") for server in self.servers()]

    def setting(self, name: str) -> str:
        """A setting of this one server, such as `dir`. One round trip. Raises StoreRefused without the right."""
        return str(self.send("CONFIG", "GET", name)[1])

    def servers(self) -> list["Store"]:
        """A store for each server that holds keys. Raises StoreError. No round trip, except for the first use of a
        cluster: it asks for the servers."""
        with _Failures(self):
            return [Store(OneServer(server)) for server in self.transport.servers()]

    def look_again(self, queued: Sequence[Queued]) -> None:
        """For the first commands of each connection: a restarted server may have loaded other data, so nothing counts
        that this process knows of the store. Errors as for `Gate.pass_`."""
        if self.gate is not None:
            self.gate.close()
            self.gate.pass_(_names(queued))

    def require(self) -> None:
        """Called right before commands are sent, and before the replies to a stream are read. Raises StoreError for
        REDIS_TIMEOUT seconds after a timeout."""
        if time.monotonic() < self._hangs_until:
            raise no_answer_again()


class _Failures:
    """A block in which redis-py's errors become a StoreError. It is a class, since a generator costs four times as much
    and a page uses several."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store.require()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, redis.RedisError):  # refused commands are among the replies
            raise self._store.failure(error) from error


class RecordedRoundTrip(_Failures):
    """Like `_Failures`, and the recorder gets the commands and the time."""

    def __init__(self, store: Store, commands: list[recorder.Command]) -> None:
        self._store = store
        self._commands = commands
        self._noted: Sequence[recorder.RoundTrip[recorder.Command]] = ()

    def __enter__(self) -> None:
        self._store.require()
        self._noted = recorder.note(self._commands)
        self._began = time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        seconds = time.perf_counter() - self._began
        for noted in self._noted:
            noted.seconds = seconds
        if error is not None:
            super().__exit__(kind, error, traceback)


class Repository:
    """Reads and writes one thing in a store. Each of its methods is a verb, and says how many round trips it makes."""

    def __init__(self, store: Store) -> None:
        self._store = store


def _names(queued: Sequence[Queued]) -> Iterator[str]:
    return (str(command[0]) for command, _ in queued)


def _chunks(scan: Callable[[int], tuple[int, T]]) -> Iterator[T]:
    """The chunks of a SCAN, HSCAN or ZSCAN. The cursor 0 ends it; an empty chunk does not."""
    cursor, chunk = scan(0)
    yield chunk
    while cursor:
        cursor, chunk = scan(cursor)
        yield chunk


# ---- Readers: generators. What one asks stands in the order in which it is asked. Each `yield` is a round trip.
#
# A reader queues commands in the pipe that it gets, and yields at least once. Its caller sends the pipe: `Viewer.ask`
# sends the check of the viewer in the first round trip, too. A StoreError is raised in the caller, not in the reader.


Reading = Generator[None, None, T]


@overload
def trip() -> Reading[tuple[()]]: ...
@overload
def trip(a: Handle[A], /) -> Reading[tuple[A]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], /) -> Reading[tuple[A, B]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], c: Handle[C], /) -> Reading[tuple[A, B, C]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], /) -> Reading[tuple[A, B, C, D]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], e: Handle[E], /) -> Reading[tuple[A, B, C, D, E]]: ...
@overload
def trip(
    a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], e: Handle[E], f: Handle[F], /
) -> Reading[tuple[A, B, C, D, E, F]]: ...
@overload
def trip(
    a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], e: Handle[E], f: Handle[F], g: Handle[G], /
) -> Reading[tuple[A, B, C, D, E, F, G]]: ...
def trip(*handles: Handle[object]) -> Reading[tuple[object, ...]]:
    """One round trip. The result has the value of each handle.

    def profile(pipe: Pipe, uid: int) -> Reading[Profile]:
        name, counts = yield from trip(pipe.hget(keys.user(uid), "name"), ask_follow_counts(pipe, uid))
        [best] = yield from trip(ask_best(pipe, name))
        return Profile(name, counts, best)
    """
    yield
    return tuple([handle.value for handle in handles])


def begun(reading: Reading[T]) -> Reading[T]:
    """Queue what a reader asks first, so that it shares the next round trip of another. After that, `yield from` it."""
    next(reading)
    return reading


def both(one: Reading[A], other: Reading[B]) -> Reading[tuple[A, B]]:
    """What two readers return. They share their round trips, for as long as both make any."""
    found: dict[Reading[Any], Any] = {}
    while len(found) < 2:
        for reading in (one, other):
            if reading not in found:
                try:
                    next(reading)
                except StopIteration as end:
                    found[reading] = end.value
        if len(found) < 2:
            yield
    return found[one], found[other]


def rest(pipe: Pipe, reading: Reading[T]) -> T:
    """What a reader returns. It makes the round trips that are left: all, unless the reader was `begun`."""
    try:
        while True:
            next(reading)
            pipe.execute()
    except StopIteration as end:
        result: T = end.value
        return result


# ---- Questions that travel alone, and writes


def answer(store: Store, ask: Callable[Concatenate[Pipe, P], Handle[V]], *args: P.args, **kwargs: P.kwargs) -> V:
    """What `ask` asks, such as `ask_people`, of these arguments. One round trip; none when it asks nothing."""
    pipe = store.pipeline()
    handle = ask(pipe, *args, **kwargs)
    pipe.execute()
    return handle.value


def handles(store: Store, ask: Callable[[Pipe, T], V], some: Iterable[T]) -> dict[T, V]:
    """As `answers`, where `ask` returns several handles: they have their values."""
    pipe = store.pipeline()
    found = {one: ask(pipe, one) for one in some}
    pipe.execute()
    return found


def answers(store: Store, ask: Callable[[Pipe, T], Handle[V]], some: Iterable[T]) -> dict[T, V]:
    """What `ask` asks of each of them, all different. One round trip; none without any."""
    return {one: handle.value for one, handle in handles(store, ask, some).items()}


def for_each(store: Store, queue: Callable[[Pipe, T], object], some: Iterable[T]) -> None:
    """Send what `queue` queues for each of them. One round trip; none without any."""
    with store.pipeline() as pipe:
        for one in some:
            queue(pipe, one)


# ---- The stores of a process


@cache
def connect() -> Store:
    """The store of this process; threads share it. No round trip: the first command fails when the server is down.

    A gate stands before its commands until the store is known, and looks again at each new connection: `schema.py`."""
    transport = get_redis_connection("store")
    store = Store(transport)
    store.gate = Gate(without_gate())
    transport.before_first = store.look_again
    return store


def without_gate() -> Store:
    """The site's store over connections of its own, whatever its state: for the gate, for the commands that change
    the state, and for the start of a web process. No round trip."""
    return Store(topology.transport(_options()))


def _options() -> dict[str, Any]:
    options: dict[str, Any] = settings.CACHES["store"]["OPTIONS"].get("CONNECTION_POOL_KWARGS", {})
    return options


def exactly() -> dict[str, Any]:
    """The options of connections for copies: bytes that are not UTF-8 stay as they are, and timeouts are longer, since
    no page waits."""
    return _options() | {"encoding_errors": "surrogateescape", "socket_timeout": 10.0}


def connect_exactly() -> Store:
    """The site's store, with every byte unchanged. For management commands only: its texts must not be shown on a page.
    No round trip."""
    return Store(topology.transport(exactly()))
