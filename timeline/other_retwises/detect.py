"""Which Retwis has written a database."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from retwis_site.store.client import Store
from timeline.other_retwises.entities import CannotImport, Reader
from timeline.other_retwises.layouts.official import Official
from timeline.other_retwises.layouts.php import Php
from timeline.other_retwises.layouts.redis_in_action import RedisInAction
from timeline.other_retwises.layouts.retwis_j import RetwisJ
from timeline.other_retwises.layouts.retwis_rb import RetwisPy, RetwisRb
from timeline.other_retwises.layouts.retwis_symfony import RetwisSymfony
from timeline.other_retwises.layouts.twtr import Twtr
from timeline.other_retwises.source import AT_ONCE, Source


@dataclass(frozen=True)
class Layout:
    """The layout of one Retwis. `mark`: the SCAN pattern of a key that no other one has."""

    name: str  # for --layout
    title: str
    mark: str
    reader: Callable[[Source], Reader]


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("official", "official PHP, 2014", "next_user_id", Official),
        Layout("php", "official PHP, 2009 to 2011, and its dialects", "global:nextUserId", Php),
        Layout("twtr", "Designing Twitter Clone in Redis", "twtr:*", Twtr),
        Layout("rb", "Retwis-RB", "user:id:*:salt", RetwisRb),
        Layout("py", "retwis-py", "user:id:*:password", RetwisPy),
        Layout("j", "Retwis-J", "global:uid", RetwisJ),
        Layout("action", "Redis in Action, chapter 8", "user:id:", RedisInAction),
        Layout("symfony", "retwis-symfony", "users:next_id", RetwisSymfony),
    )
}
OWN_KEYS = ("schema", "users_by_name", "outbox")  # no other Retwis has them


def refuse_own(source: Source) -> None:
    """Raises CannotImport for a database of this site, also for one that is half adopted. One round trip."""
    found = [name for name, exists in zip(OWN_KEYS, _exists(source, OWN_KEYS), strict=True) if exists]
    if found:
        raise CannotImport(
            f"--from names a database of this site, or one that `manage.py adopt` has begun with: it has the key "
            f"{found[0]}. Use `manage.py copy --from` for it; finish `adopt` there before."
        )


def detect(source: Source) -> Layout:
    """The one layout whose mark the source has. Raises CannotImport for none and for several. One round trip for the
    marks that are keys; each pattern costs one for each AT_ONCE keys of the source."""
    found = [layout for layout, marked in zip(LAYOUTS.values(), _marked(source), strict=True) if marked]
    if len(found) == 1:
        return found[0]
    names = ", ".join(LAYOUTS)
    if not found:
        marks = ", ".join(layout.mark for layout in LAYOUTS.values())
        raise CannotImport(
            f"--from has none of the keys by which layouts are known ({marks}). Check its host and its database "
            f"number, or name the layout: --layout with one of {names}."
        )
    listed = ", ".join(f"{layout.name} (by {layout.mark})" for layout in found)
    raise CannotImport(f"--from has keys of several layouts: {listed}. Name the one to import with --layout.")


def _marked(source: Source) -> Iterator[bool]:
    """Whether the source has the mark of each layout, in their order."""
    plain = [layout.mark for layout in LAYOUTS.values() if "*" not in layout.mark]
    existing = dict(zip(plain, _exists(source, plain), strict=True))
    for layout in LAYOUTS.values():
        yield existing[layout.mark] if layout.mark in existing else _any_key(source, layout.mark)


def _exists(source: Store, names: Sequence[str]) -> list[bool]:
    pipe = source.pipeline()
    types = [pipe.type(name) for name in names]
    pipe.execute()
    return [found.value != "none" for found in types]


def _any_key(source: Store, pattern: str) -> bool:
    return any(names for names in source.scan_keys(pattern, AT_ONCE))
