"""How many Python functions are called: a figure that is the same on every machine, unlike a time."""

import gc
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

TESTS = str(Path(__file__).parents[2])


def python_calls(work: Callable[[], object]) -> Counter[str]:
    """The calls of `work` in this thread by function, such as `middleware.py:SiteMiddleware._page`; none of tests, and
    none of what the garbage collector ends.

    A generator counts each time it goes on; what is written in C counts nothing. Once `work` was done before, so that
    caches are warm, `.total()` is the same each time."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and not frame.f_code.co_filename.startswith(TESTS):
            calls[f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_qualname}"] += 1

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls
