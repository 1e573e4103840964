"""What the processes of a soaked site and its store take."""

from tests.support.processes.memory import MIB, use_of

MORE = 0.10  # of a process's own memory
OR_MIB = 20  # the caches of a worker that was killed last fill: from 60 to 85 MiB
MORE_FILES, MORE_THREADS = 10, 4
BYTES_A_KEY = 1.25  # times as many as before


def uses(pids):
    """What each process takes, by its name."""
    return {name: use_of(pid) for name, pid in pids.items()}


def of_store(raw):
    """The bytes of the store's data, the number of its keys, and that of its clients."""
    return raw.info("memory")["used_memory"], raw.dbsize(), raw.info("clients")["connected_clients"]


def grown(before, after):
    """What has grown: a sentence for each process that takes more than it should, or is another one."""
    for name, first in before.items():
        last = after[name]
        if first.pid != last.pid:
            yield f"{name} was started again although nobody had killed it"
        elif last.size - first.size > max(MORE * first.size, OR_MIB * MIB):
            yield f"{name} has grown from {first.size / MIB:.1f} to {last.size / MIB:.1f} MiB"
        elif last.files > first.files + MORE_FILES or last.threads > first.threads + MORE_THREADS:
            yield f"{name}: {first.files} files and {first.threads} threads became {last.files} and {last.threads}"


def grown_store(before, after):
    (first, keys, clients), (last, more_keys, more_clients) = before, after
    if last / more_keys > BYTES_A_KEY * first / keys:
        yield f"the store has grown from {first / keys:.0f} to {last / more_keys:.0f} bytes for each key"
    if more_clients > clients + MORE_FILES:
        yield f"the store had {clients} clients, and has {more_clients}"


def table(before, after):
    rows = [f"{'':>14} {'MiB':>14} {'files':>10} {'threads':>10}"]
    for name, first in before.items():
        last = after[name]
        size = f"{first.size / MIB:.1f} > {last.size / MIB:.1f}"
        rows.append(f"{name:>14} {size:>14} {first.files:>4} > {last.files:<4} {first.threads:>4} > {last.threads:<4}")
    return "\n".join(rows)
