"""The key browser: the families of keys, and one key. Nothing here writes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, cast

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import admin_required, marked, never_store
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import Role, User
from accounts.users.repository import Users
from retwis_site.exceptions import StoreRefused
from retwis_site.inspector import key_browser
from retwis_site.inspector.middleware import is_at_home
from retwis_site.store import keys
from retwis_site.store.client import Store, answers, connect
from retwis_site.store.ids import parse_id
from retwis_site.store.kinds import KINDS, Kind, What
from retwis_site.telemetry.redaction import shown_key

# ---- The guard of the pages that show the store.


P = ParamSpec("P")


def inspectors_only(
    view: Callable[Concatenate[RetwisRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Without INSPECT the address does not exist: 404, with any method. Where others can reach the site it exists for
    admins alone. No cache stores the answer."""

    @admin_required
    def as_admin(request: RetwisRequest, me: User, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return view(request, *args, **kwargs)

    @never_store
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not settings.INSPECT:
            raise Http404
        if not is_at_home(request):
            return as_admin(request, *args, **kwargs)
        return view(cast(RetwisRequest, request), *args, **kwargs)

    return marked(update_wrapper(guarded, view), "for_roles", {Role.ADMIN})


# ---- What ids lead to: a page names the people and posts of its cells, and links them.


class CellLinks:
    """What the cells of one page lead to. Two round trips to make; one without posts, none without ids."""

    def __init__(self, store: Store, cells: Sequence[key_browser.Cell]) -> None:
        uids = {number for cell in cells if cell.what is What.USER for number in cell.ids}
        pids = {number for cell in cells if cell.what is What.POST for number in cell.ids}
        self._authors: Mapping[int, int] = {}
        self._people: Mapping[int, User] = {}
        with suppress(StoreRefused):  # one of these keys has the wrong type, which the viewer may be looking for
            self._authors = _authors(store, pids)
            self._people = Users(store).people(uids | set(self._authors.values()))

    def of(self, cell: key_browser.Cell | None) -> key_browser.Cell | None:
        """The cell with its links."""
        return cell and replace(cell, links=[self._link(cell.what, number) for number in cell.ids])

    def _link(self, what: What, number: int) -> key_browser.Link:
        if what is What.USER:
            key, user = keys.user(number), self._people.get(number)
            page = reverse("profile", args=[user.username]) if user else ""
        else:
            key, user = keys.post(number), self._people.get(self._authors.get(number, 0))
            page = reverse("post", args=[user.username, number]) if user else ""
        return key_browser.Link(number, key_browser.address_of(key), page, user.username if user else "")


def _authors(store: Store, pids: Iterable[int]) -> dict[int, int]:
    """The authors of these posts by pid, without deleted and unknown posts. One round trip; none without posts."""
    stored = answers(store, lambda pipe, pid: pipe.hmget(keys.post(pid), ["user_id", "deleted"]), pids)
    authors = {pid: parse_id(author or "") for pid, (author, deleted) in stored.items() if deleted is None}
    return {pid: uid for pid, uid in authors.items() if uid is not None}


# ---- Views


OF = {"uid": What.USER, "pid": What.POST}


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the page of families."""

    line: Kind
    number: int
    memory: int | None  # bytes
    is_estimate: bool
    examples: list[tuple[str, str]]  # keys with their addresses


@inspectors_only
@require_safe
def families(request: RetwisRequest) -> HttpResponse:
    """Round trips: those of the viewer and of `Families.look`; none for `?key=`, which leads to a key."""
    if wanted := request.GET.get("key", "").strip():
        return redirect(key_browser.address_of(wanted))
    place = key_browser.place_in(request.GET["from"]) if "from" in request.GET else key_browser.ScanPlace()
    before = key_browser.tallies_in(request.GET["seen"]) if "seen" in request.GET else {}
    sample = key_browser.Families(connect()).look(place, before)
    rows = [_family(line, sample) for line in KINDS.values()]
    further = (
        urlencode({"from": str(sample.further), "seen": key_browser.packed(sample.tallies)}) if sample.further else ""
    )
    context = {
        "families": sorted(rows, key=lambda row: (-(row.memory or 0), -row.number, row.line.name)),
        "sample": sample,
        "looked_at": min(sample.looked_at, sample.total),
        "others": sample.number(key_browser.OTHERS),
        "further": further,
        "memory": sum(row.memory or 0 for row in rows),
    }
    return form_page(request, "accounts/inspector/families.html", context)


@inspectors_only
@require_safe
def one_key(request: RetwisRequest, key: str) -> HttpResponse:
    """Round trips: those of the viewer, of `OneKey.look` and of `CellLinks`."""
    line = key_browser.line_of(key)
    if line is None:
        raise Http404
    start = key_browser.beginning(request.GET.get("from"))
    found = key_browser.OneKey(connect(), key, line).look(start, request.viewer.uid)
    about = key_browser.Cell(key.rpartition(":")[2], OF[line.parts[0]]) if line.parts in {("uid",), ("pid",)} else None
    cells = [cell for row in (*found.rows, (about,)) for cell in row if cell is not None]
    links = CellLinks(connect(), cells)
    context: dict[str, Any] = {
        "key": shown_key(key),
        "line": line,
        "holds": key_browser.spans(line.text),
        "found": found,
        "is_there": found.type != key_browser.NO_KEY,
        "about": links.of(about),
        "rows": [tuple(map(links.of, row)) for row in found.rows],
        "is_wrong_type": found.type not in {key_browser.NO_KEY, line.type} and line.type != "any",
    }
    return form_page(request, "accounts/inspector/key.html", context, status=200 if context["is_there"] else 404)


def _family(line: Kind, sample: key_browser.Sample) -> Family:
    pattern = line.pattern
    return Family(
        line,
        sample.number(pattern),
        sample.memory(pattern),
        sample.is_estimate(pattern),
        [(key, key_browser.address_of(key)) for key in sample.examples.get(pattern, ()) if shown_key(key) == key],
    )


# ---- Addresses


urlpatterns = [
    path("inspect/", families, name="inspect"),
    path("inspect/<path:key>", one_key, name="inspect_key"),
]
