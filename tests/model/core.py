"""An in-memory Redis of single-key commands, and an explorer of every interleaving of processes with crashes.

A process is a generator: it yields a command and gets the reply. Two histories of a process are one state when its
local variables and its place in the code are the same. So a protocol must keep all its state in local variables: a loop
that yields must have a loop variable with different values, and no command may be yielded inside a larger expression.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

Command = tuple  # (name, key, *arguments)
Database = dict[str, tuple]  # key -> ("z" | "l", value); a zset is a sorted tuple of pairs
Steps = Generator[Command, object, object]

READS = frozenset({"ZRANGE", "LRANGE"})  # a death before a read is a death before the next write
DEAD = -1  # the node of a process that has died


def run(db: Database, command: Command) -> tuple[Database, object]:
    """Carry out one command. Returns the new database and the reply; `db` itself never changes."""
    name, key, *arguments = command
    _, value = db.get(key, ("", ()))

    def with_value(kind: str, new: tuple) -> Database:
        changed = {each: held for each, held in db.items() if each != key}
        return changed | ({key: (kind, new)} if new else {})

    if name == "UNLINK":
        return with_value("", ()), int(key in db)
    if name == "ZADD":
        pairs = dict(value) | {arguments[0]: arguments[1]}
        return with_value("z", tuple(sorted(pairs.items(), key=str))), 0
    if name == "ZREM":
        kept = tuple(pair for pair in value if pair[0] not in arguments)
        return with_value("z", kept), len(value) - len(kept)
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


@dataclass
class Result:
    """What an exploration has found. `errors`: how many last states have each error."""

    states: int = 0
    ends: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    complete: bool = True


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
        while True:
            try:
                return self._explore(check, limit)
            except _NewKey as found:
                self._written.add(found.key)

    def _explore(self, check: Callable[[Database, bool], list[str]], limit: int) -> Result:
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
            if len(seen) > limit:
                result.complete = False
                break
        result.states = len(seen)
        return result
