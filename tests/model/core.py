"""An in-memory Redis of single-key commands, and an explorer of every interleaving of processes with crashes.

A process is a generator: it yields a command and gets the reply. Two histories of a process are one state when its
local variables and its place in the code are the same. So a protocol must keep all its state in local variables: a loop
that yields must have a loop variable with different values, and no command may be yielded inside a larger expression.
"""

import resource
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

Command = tuple  # (name, key, *arguments)
Database = dict[str, tuple]  # key -> ("h" | "z" | "s" | "l", value); a hash and a zset are sorted tuples of pairs
Steps = Generator[Command, object, object]

READS = frozenset(
    {"HMGET", "HGETALL", "TTL", "ZSCORE", "ZCARD", "ZRANGE", "LRANGE"}
)  # a death before a read is a death before the next write
DEAD = -1  # the node of a process that has died
EXPIRY = "(expiry)"  # the field of a hash that expires


def run(db: Database, command: Command) -> tuple[Database, object]:
    """Carry out one command. Returns the new database and the reply; `db` itself never changes."""
    name, key, *arguments = command
    kind, value = db.get(key, ("", ()))
    pairs = dict(value) if kind in ("h", "z") else {}

    def with_value(kind: str, new: object) -> Database:
        changed = {each: held for each, held in db.items() if each != key}
        if new not in ((), {}):
            changed[key] = (kind, tuple(sorted(new.items(), key=str)) if isinstance(new, dict) else new)
        return changed

    if name == "INCR":
        return with_value("s", (value or 0) + 1), (value or 0) + 1
    if name == "UNLINK":
        return with_value("s", ()), int(key in db)
    if name == "HMGET":
        return db, tuple(pairs.get(one) for one in arguments)
    if name == "HGETALL":
        return db, value
    if name == "HSETNX":
        return with_value("h", {arguments[0]: arguments[1]} | pairs), int(arguments[0] not in pairs)
    if name == "EXPIRE":  # the hash of a post; "LAPSE" is the end of it
        return with_value("h", pairs | {EXPIRY: 1} if pairs else {}), 0
    if name == "PERSIST":
        return with_value("h", {one: held for one, held in pairs.items() if one != EXPIRY}), 0
    if name == "LAPSE":
        return with_value("h", {} if EXPIRY in pairs else pairs), 0
    if name == "TTL":  # whether it expires
        return db, int(EXPIRY in pairs)
    if name == "HSET":
        return with_value("h", pairs | dict(zip(arguments[::2], arguments[1::2], strict=True))), 0
    if name in ("HDEL", "ZREM"):
        kept = {one: held for one, held in pairs.items() if one not in arguments}
        left = {} if set(kept) == {EXPIRY} else kept
        return with_value("h" if name == "HDEL" else "z", left), len(pairs) - len(kept)
    if name == "HINCRBY":
        return with_value("h", pairs | {arguments[0]: pairs.get(arguments[0], 0) + arguments[1]}), 0
    if name == "ZADD":
        return with_value("z", pairs | {arguments[0]: arguments[1]}), 0
    if name == "ZADDNX":
        return with_value("z", {arguments[0]: arguments[1]} | pairs), int(arguments[0] not in pairs)
    if name == "ZREMRANGEBYSCORE":
        kept = {one: score for one, score in pairs.items() if not arguments[0] <= score <= arguments[1]}
        return with_value("z", kept), len(pairs) - len(kept)
    if name == "ZSCORE":
        return db, pairs.get(arguments[0])
    if name == "ZCARD":
        return db, len(pairs)
    if name == "ZRANGE":  # WITHSCORES
        return db, tuple(sorted(value, key=lambda pair: (pair[1], str(pair[0]))))
    if name == "LRANGE":
        return db, value[: arguments[1] + 1 or None]
    new, reply = _run_on_list(name, value, arguments)
    return with_value("l", new), reply


def _run_on_list(name: str, value: tuple, arguments: list) -> tuple[tuple, int]:
    """Carry out a command that changes a list. Returns the list and the reply."""
    if name == "RPUSH":
        return (*value, *arguments), len(value) + len(arguments)
    if name == "RPUSHX":
        return (*value, *arguments) if value else (), len(value) + len(arguments) if value else 0
    if name == "LPUSHX":
        return (*arguments[::-1], *value) if value else (), len(value) + len(arguments) if value else 0
    if name == "LTRIM":
        return value[: arguments[1] + 1], 0
    if name == "LINSERT":  # AFTER
        if arguments[0] not in value:
            return value, -1 if value else 0
        place = value.index(arguments[0]) + 1
        return (*value[:place], arguments[1], *value[place:]), len(value) + 1
    if name == "LREM":  # the first one
        if arguments[0] not in value:
            return value, 0
        place = value.index(arguments[0])
        return value[:place] + value[place + 1 :], 1
    raise ValueError(name)


def alone(db: Database, steps: Steps) -> Database:
    """Run one process to its end, without others."""
    reply = None
    while True:
        try:
            command = steps.send(reply)
        except StopIteration:
            return db
        db, reply = run(db, command)


class _NewKey(Exception):
    """A process writes a key that was thought to be only read: begin anew."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


@dataclass
class Process:
    """A process of a scenario. It starts when the processes `after` (by name) have ended or died."""

    name: str
    start: Callable[[], Steps]
    after: tuple[str, ...] = ()
    can_die: bool = True

    def __post_init__(self) -> None:
        self._histories: list[tuple] = []
        self.commands: list[Command | None] = []  # by node; None: the process has ended
        self._nodes: dict[object, int] = {}
        self._next: dict[tuple[int, object], int] = {}
        self.first = self._node(())

    def after_reply(self, node: int, reply: object) -> int:
        """The node that follows a reply."""
        if (node, reply) not in self._next:
            self._next[node, reply] = self._node((*self._histories[node], reply))
        return self._next[node, reply]

    def _node(self, history: tuple) -> int:
        steps = self.start()
        try:
            command = next(steps)
            for reply in history:
                command = steps.send(reply)
            state = (command, _local_state(steps))
        except StopIteration:
            command, state = None, None
        if state not in self._nodes:
            self._nodes[state] = len(self.commands)
            self.commands.append(command)
            self._histories.append(history)
        return self._nodes[state]


def _local_state(steps: Steps) -> tuple:
    """Where a generator stands: the place and the local variables of each of its nested frames."""
    frames = []
    while steps is not None:
        frame = steps.gi_frame
        held = tuple((name, repr(value)) for name, value in sorted(frame.f_locals.items()))
        frames.append((frame.f_code.co_name, frame.f_lasti, held))
        steps = steps.gi_yieldfrom
    return tuple(frames)


def with_workers(changes: Mapping[str, tuple[Callable[[], Steps], Callable[[], Steps]]]) -> list[Process]:
    """By name, a process for each change, and a worker that finishes its job once it has ended or died."""
    processes = []
    for name, (change, work) in changes.items():
        processes.append(Process(name, change))
        processes.append(Process(f"worker of {name}", work, after=(name,), can_die=False))
    return processes


@dataclass
class Result:
    """What an exploration has found. `errors`: how many last states have each error."""

    states: int = 0
    ends: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    seconds: float = 0.0
    example: list[str] = field(default_factory=list)  # the shortest way to one error, when asked for


class Explorer:
    """Explores one scenario: all interleavings of its processes from `db`, with at most `crashes` deaths."""

    def __init__(self, processes: list[Process], db: Database, crashes: int) -> None:
        self._processes = processes
        self._crashes = crashes
        self._databases: list[Database] = []
        self._numbers: dict[frozenset, int] = {}
        self._steps: dict[tuple[int, Command], tuple[int, object]] = {}
        self._written: set[str] = set()  # keys
        names = [process.name for process in processes]
        self._waits_for = [tuple(names.index(name) for name in process.after) for process in processes]
        self._first = (self._number(db), *(process.first for process in processes), crashes)

    def _number(self, db: Database) -> int:
        """Each different database is kept once."""
        frozen = frozenset(db.items())
        if frozen not in self._numbers:
            self._numbers[frozen] = len(self._databases)
            self._databases.append(db)
        return self._numbers[frozen]

    def _moves(self, state: tuple) -> list[tuple[int, bool, tuple]]:
        """All next states, as (process, whether it dies, state). A death before the first command is no event.

        A read of a key that no process writes has the same reply at any time. So it comes first, and alone."""
        found = []
        ended = [
            node == DEAD or process.commands[node] is None
            for process, node in zip(self._processes, state[1:-1], strict=True)
        ]
        for place, process in enumerate(self._processes):
            if ended[place] or not all(ended[other] for other in self._waits_for[place]):
                continue
            node = state[place + 1]
            command = process.commands[node]
            step = self._steps.get((state[0], command))
            if step is None:
                if command[0] not in READS and command[1] not in self._written:
                    raise _NewKey(command[1])
                db, reply = run(self._databases[state[0]], command)
                step = self._steps[state[0], command] = (self._number(db), reply)
            following = process.after_reply(node, step[1])
            after = (step[0], *state[1 : place + 1], following, *state[place + 2 :])
            if command[0] in READS and command[1] not in self._written:
                return [(place, False, after)]
            found.append((place, False, after))
            if state[-1] and process.can_die and node != process.first and command[0] not in READS:
                found.append((place, True, (*state[: place + 1], DEAD, *state[place + 2 : -1], state[-1] - 1)))
        return found

    def explore(self, check: Callable[[Database, bool], list[str]], limit: int = 4_000_000) -> Result:
        """Visit every state. `check` gets each last database, and whether a process has died."""
        started = time.monotonic()
        while True:
            try:
                return self._explore(check, limit, started)
            except _NewKey as found:
                self._written.add(found.key)

    def _explore(self, check: Callable[[Database, bool], list[str]], limit: int, started: float) -> Result:
        result = Result()
        seen, stack = {self._first}, [self._first]
        checked: dict[tuple[int, bool], list[str]] = {}
        while stack:
            state = stack.pop()
            moves = self._moves(state)
            if all(dies for _, dies, _ in moves):
                result.ends += 1
                end = (state[0], state[-1] < self._crashes)
                if end not in checked:
                    checked[end] = check(self._databases[end[0]], end[1])
                for error in checked[end]:
                    result.errors[error] = result.errors.get(error, 0) + 1
            for _, _, following in moves:
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
            if len(seen) > limit or (len(seen) % 1000 == 0 and _over(started)):
                result.complete = False
                break
        result.states, result.seconds = len(seen), time.monotonic() - started
        return result

    def example(self, check: Callable[[Database, bool], list[str]], error: str, limit: int = 400_000) -> list[str]:
        """The commands of a way to this error with few changes between processes; empty when none is found. Call it
        after `explore`."""
        start = (self._first, None)
        costs, ways, waiting, done = {start: 0}, {}, deque([start]), set()
        while waiting and len(done) < limit:
            node = waiting.popleft()
            if node in done:
                continue
            done.add(node)
            state, last = node
            moves = self._moves(state)
            if all(dies for _, dies, _ in moves):
                if error in check(self._databases[state[0]], state[-1] < self._crashes):
                    return self._way(node, ways)
                continue
            for place, dies, following in moves:
                cost = costs[node] + (place not in (last, None)) + 3 * dies
                after = (following, place)
                if after not in costs or cost < costs[after]:
                    costs[after], ways[after] = cost, (node, place, dies)
                    (waiting.appendleft if cost == costs[node] else waiting.append)(after)
        return []

    def _way(self, node: tuple, ways: dict) -> list[str]:
        lines = []
        while node in ways:
            before, place, dies = ways[node]
            process = self._processes[place]
            command = process.commands[before[0][place + 1]]
            words = " ".join(str(word) for word in command)
            reply = "" if dies else f" -> {run(self._databases[before[0][0]], command)[1]}"
            lines.append(f"{process.name}: {'dies before ' if dies else ''}{words}{reply}")
            node = before
        return lines[::-1]


def _over(started: float) -> bool:
    """Whether a run has taken two minutes or 4 GB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.monotonic() - started > 110 or kilobytes > 4_000_000
