"""What ids lead to: the key browser's pages name the people and posts of a page's cells, and link them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from django.urls import reverse

from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.exceptions import StoreRefused
from retwis_site.inspector.one_key import Cell, address_of
from retwis_site.rendering.dates import moment
from retwis_site.store import keys
from retwis_site.store.chunks import answers
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from retwis_site.store.kinds import What


@dataclass(frozen=True, slots=True)
class Link:
    """An id in a cell."""

    number: int
    key: str  # the address of its key in the key browser
    page: str = ""  # the address of its page; empty for what no page shows
    user: str = ""  # the name of the user, or of the author of the post


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell as the page shows it: text, ids with links, or a time; only a size when there is none of them."""

    text: str | None
    size: int
    links: Sequence[Link] = ()
    iso: str = ""
    when: str = ""


@dataclass
class Links:
    """What the cells of one page lead to. Two round trips to make; one without posts, none without ids."""

    store: Store
    cells: Iterable[Cell]
    language: str
    _people: Mapping[int, User] = field(init=False)
    _authors: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        uids = {number for cell in self.cells if cell.what is What.USER for number in cell.ids}
        pids = {number for cell in self.cells if cell.what is What.POST for number in cell.ids}
        self._authors, self._people = {}, {}
        with suppress(StoreRefused):  # one of these keys has the wrong type, which the viewer may be looking for
            self._authors = _authors(self.store, pids)
            self._people = Users(self.store).people(uids | set(self._authors.values()))

    def of(self, cell: Cell | None) -> Shown | None:
        if cell is None:
            return None
        if cell.what is What.TIME and (cell.text or "").isdecimal():
            iso, when = moment(int(cell.text or ""), self.language)
            return Shown(cell.text, cell.size, iso=iso, when=when)
        return Shown(cell.text, cell.size, [self._link(cell.what, number) for number in cell.ids])

    def _link(self, what: What, number: int) -> Link:
        if what is What.USER:
            key, user = keys.user(number), self._people.get(number)
            page = reverse("profile", args=[user.username]) if user else ""
        else:
            key, user = keys.post(number), self._people.get(self._authors.get(number, 0))
            page = reverse("post", args=[user.username, number]) if user else ""
        return Link(number, address_of(key), page, user.username if user else "")


def _authors(store: Store, pids: Iterable[int]) -> dict[int, int]:
    """The authors of these posts by pid, without deleted and unknown posts. One round trip; none without posts."""
    stored = answers(store, lambda pipe, pid: pipe.hmget(keys.post(pid), ["user_id", "deleted"]), pids)
    authors = {pid: parse_id(author or "") for pid, (author, deleted) in stored.items() if deleted is None}
    return {pid: uid for pid, uid in authors.items() if uid is not None}
