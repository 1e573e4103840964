"""The texts that a post had."""

from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import note_bad, parse_number
from retwis_site.store.replies import Answer


class Version(NamedTuple):
    """A text of a post."""

    since: int  # unix seconds: since when it stands, or stood
    text: str


def ask_versions(pipe: Pipe, pid: int) -> Answer[tuple[Version, ...]]:
    """All texts of an edited post, the one that stands now as the last; none for a post that was never edited. One
    command.

    The texts of a deleted post may still be there for a moment: a page must ask whether it is deleted."""
    key = keys.edits(pid)
    stored = pipe.hgetall(key)

    def read() -> tuple[Version, ...]:
        texts = []
        for since, text in stored.value.items():
            number = parse_number(since)
            if number is None:
                note_bad(key, since)
            else:
                texts.append(Version(number, text))
        return tuple(sorted(texts))

    return Answer(read)
