"""The key browser: the families of keys, and one key. Nothing here writes."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.inspector.guards import inspectors_only
from accounts.inspector.links import Links
from accounts.signing_in.html.pages import form_page
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.inspector.keys.families import OTHERS, Families, Place, Sample, packed, place_in, tallies_in
from retwis_site.inspector.keys.growth import GROWTH, Growth
from retwis_site.inspector.keys.key_table import Line, address_of, line_of, lines, spans
from retwis_site.inspector.keys.meanings import What
from retwis_site.inspector.keys.one_key import NO_KEY, Cell, OneKey, beginning
from retwis_site.inspector.keys.privacy import shown_key
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect

OF = {"uid": What.USER, "pid": What.POST}


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the page of families."""

    line: Line
    growth: Growth
    number: int
    memory: int | None  # bytes
    is_estimate: bool
    examples: list[tuple[str, str]]  # keys with their addresses


@inspectors_only
@require_safe
def families(request: RetwisRequest) -> HttpResponse:
    """Round trips: those of the viewer and of `Families.look`; none for `?key=`, which leads to a key."""
    if wanted := request.GET.get("key", "").strip():
        return redirect(address_of(wanted))
    place = place_in(request.GET["from"]) if "from" in request.GET else Place()
    before = tallies_in(request.GET["seen"]) if "seen" in request.GET else {}
    sample = Families(connect()).look(place, before)
    rows = [_family(line, sample) for line in lines().values()]
    further = urlencode({"from": str(sample.further), "seen": packed(sample.tallies)}) if sample.further else ""
    context = {
        "families": sorted(rows, key=lambda row: (-(row.memory or 0), -row.number, row.line.name)),
        "sample": sample,
        "looked_at": min(sample.looked_at, sample.total),
        "others": sample.number(OTHERS),
        "further": further,
        "memory": sum(row.memory or 0 for row in rows),
    }
    return form_page(request, "accounts/inspector/families.html", context)


@inspectors_only
@require_safe
def one_key(request: RetwisRequest, key: str) -> HttpResponse:
    """Round trips: those of the viewer, of `OneKey.look` and of `Links`."""
    line = line_of(key)
    if line is None:
        raise Http404
    found = OneKey(connect(), key, line).look(beginning(request.GET.get("from")), request.viewer.uid)
    about = Cell(key.rpartition(":")[2], OF[line.about]) if line.about else None
    cells = [cell for row in found.rows for cell in (row.name, row.value) if cell is not None]
    links = Links(connect(), [*cells, *([about] if about else [])], active_language())
    context: dict[str, Any] = {
        "key": shown_key(key),
        "line": line,
        "holds": spans(line.holds),
        "growth": GROWTH[line.pattern],
        "found": found,
        "is_there": found.type != NO_KEY,
        "about": links.of(about),
        "rows": [(links.of(row.name), links.of(row.value)) for row in found.rows],
        "is_wrong_type": found.type not in {NO_KEY, line.type} and line.type != "any",
    }
    return form_page(request, "accounts/inspector/key.html", context, status=200 if context["is_there"] else 404)


def _family(line: Line, sample: Sample) -> Family:
    pattern = line.pattern
    return Family(
        line,
        GROWTH[pattern],
        sample.number(pattern),
        sample.memory(pattern),
        sample.is_estimate(pattern),
        [(key, address_of(key)) for key in sample.examples.get(pattern, ()) if shown_key(key) == key],
    )
