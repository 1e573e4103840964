"""A wall clock that a test steps while real processes run.

Debian's libfaketime cannot do this: with it, `time.sleep` of Python 3.11 fails or never ends, since it waits for a
moment of the monotonic clock. So a library of a few lines (stepped_clock.c) is compiled and preloaded."""

import contextlib
import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
COMPILER = shutil.which("cc")


class SteppedClock:
    """How far the clock of the processes is from the real one, in seconds."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(8))
        with file.open("r+b") as opened:
            self._shared = mmap.mmap(opened.fileno(), 8)

    @property
    def stepped(self) -> int:
        return struct.unpack("=q", self._shared)[0]

    def step(self, seconds: int) -> None:
        """Set the clock forwards or backwards, in all processes at the same moment."""
        self._shared[:] = struct.pack("=q", self.stepped + seconds)


@contextlib.contextmanager
def stepped_clock(folder: Path) -> Iterator[SteppedClock]:
    """All processes that this one starts during the block have this clock. Needs a C compiler."""
    library, file = folder / "stepped_clock.so", folder / "clock"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True)
    clock = SteppedClock(file)
    before = os.environ.get("LD_PRELOAD")
    os.environ |= {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(file)}
    try:
        yield clock
    finally:
        os.environ.pop("STEPPED_CLOCK")
        os.environ.pop("LD_PRELOAD")
        if before is not None:
            os.environ["LD_PRELOAD"] = before
