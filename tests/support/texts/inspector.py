"""The inspector of a page, read."""

import re
from dataclasses import dataclass
from html import unescape


@dataclass(frozen=True)
class Inspector:
    """What the inspector of a page says. `summary`: its line; `commands`: those of this page, by round trip."""

    numbers: tuple[int, int]  # commands and round trips, as programs read them
    milliseconds: float
    summary: str
    commands: list[list[str]]
    headings: list[str]


NUMBERS = re.compile(r' data-commands="(\d+)" data-round-trips="(\d+)" data-ms="(\d+\.\d)"[ >]')
COMMAND = re.compile(r"<li><code>(.*?)</code>")


def inspector(response):
    """The inspector of a page; None for an answer without one."""
    _, found, html = response.content.decode().partition('<details id="inspector"')
    if not found:
        return None
    assert re.fullmatch(r".*</details>\s*</aside>\s*</body>\s*</html>\s*", html, re.DOTALL)
    commands, round_trips, milliseconds = NUMBERS.match(html).groups()
    steps = html.rpartition("<h2>")[2].split("Round trip:")[1:]
    return Inspector(
        (int(commands), int(round_trips)),
        float(milliseconds),
        _text(re.search(r"<summary>(.*?)</summary>", html, re.DOTALL)[1]),
        [[_text(command) for command in COMMAND.findall(step)] for step in steps],
        [_text(heading) for heading in re.findall(r"<h2>(.*?)</h2>", html)],
    )


def _text(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())
