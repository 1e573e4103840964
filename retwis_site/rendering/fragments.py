"""Fragments: Django templates that are rendered once for each language and shape, and then filled.

The text of the template says which names a fragment takes (`template_names.py`):
- A *slot* is shown: `{{ text }}`. It takes what differs from use to use: a text, which is escaped, or HTML that is
  marked safe, such as another filled fragment. When the template is rendered, a slot has no value yet: a placeholder
  stands in its place. So a template can show a slot and cannot ask for its value.
- A *number* is a slot that a `{% blocktranslate count %}` counts with. The language decides the words around it.
- The *shape* decides the structure. `{% if own %}` asks a name of it, which is true or false. A name with other values
  is declared with all of them, since each value makes one more shape.
- A *constant* is declared too, and is the same for every use.

To fill a fragment is to join strings. What is kept filled is compared with all that it was made of, so nothing becomes
stale, and no viewer gets what was made for another.
"""

import re
import secrets
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from importlib import import_module
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.conf import settings
from django.template import loader
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override
from django.utils.translation.trans_real import translation

from retwis_site.rendering.template_names import NOT_READ, FragmentError, FragmentNames, names_of

T = TypeVar("T", bound=Hashable)

MOST_SHAPES = 1000  # of a fragment, in all languages, that a process keeps, with 2 KB each beside what they share

Html = SafeString  # a text that is inserted as it is. Only this module, pictures of users and the book make one
NOTHING = Html("")

# Digits, so that a placeholder is allowed wherever an id or a name is, also in `{% url %}`. Nobody can guess it. No
# text of a user is searched for it anyway: slots are filled after the template was cut.
_SECRET = "".join(secrets.choice("123456789") for _ in range(40))
_needs_escaping = re.compile("[&<>\"']").search
_PLACEHOLDER = re.compile(rf"{_SECRET}(\d{{3}})")
# Indentation of templates, a tenth of a page of posts; the texts of users come in later. Before a block nothing of it
# is seen, elsewhere it may be a space between words.
_BLOCKS = "article|aside|blockquote|details|div|footer|form|h[1-6]|header|li|link|main|meta|nav|ol|p|section|title|ul"
_BEFORE_BLOCK = re.compile(rf"\s*\n\s*(?=</?(?:{_BLOCKS})\b)")
_INDENTATION = re.compile(r"\s*\n\s*")


_kept: dict[Any, Any] = {}


def _shared(value: T) -> T:
    """The first object that was equal to this one. The shapes of a page differ in few pieces. A page may have thousands
    of them: with all their pieces, 20 KB each, they filled the memory of a process."""
    first: T = _kept.setdefault(value, value)
    return first


class Shaped:
    """A fragment in one language and shape, cut at its slots. In bytes, as it is sent: one emoji in a page of text
    would make all of it four times as wide."""

    __slots__ = ("_again", "_names", "_pieces")

    def __init__(self, pieces: list[str], names: Iterable[str]) -> None:
        """`pieces`: HTML; every second one stands for a slot, in the order of `names`."""
        self._pieces = [_shared(piece.encode()) for piece in pieces]
        self._names = _shared(tuple(names))
        self._again: dict[tuple[str, ...], _Again] = {}

    def filled(self, given: Mapping[str, Any]) -> list[bytes]:
        """The HTML in pieces, with a value for each slot. Bytes are finished HTML, from here."""
        found = {}
        for name, value in given.items():  # each once: the address of a card's author stands in seven places
            kind = value.__class__
            if kind is bytes:
                found[name] = value
                continue
            if kind is str:  # as `_escaped` does: a page has twenty
                value = escape(value) if _needs_escaping(value) else value
            elif kind is not Html:
                value = str(value) if kind is int else _escaped(value)
            found[name] = value.encode()
        pieces = self._pieces.copy()
        pieces[1::2] = map(found.__getitem__, self._names)
        return pieces

    def to_keep(self, given: Mapping[str, Any], values: "Values") -> "Refillable":
        """The HTML, to be kept: the slots that `values` has may be filled anew. `given` has a value for each slot."""
        names = tuple(values.slots)
        again = self._again.get(names) or self._again.setdefault(names, self._split(names))
        filled = self.filled(given)
        ends = [*accumulate(map(len, filled))]
        places = array("I", [*map(ends.__getitem__, again.edges)])  # from a list it takes no room to grow
        return Refillable(again.names, values.as_filled(b"".join(filled), places))

    def _split(self, names: Sequence[str]) -> "_Again":
        slots = [(number, name) for number, name in enumerate(self._names) if name in names]
        edges = tuple(edge for number, _ in slots for edge in (2 * number, 2 * number + 1))
        return _Again(tuple(name for _, name in slots), edges)


class _Again(NamedTuple):
    """Which slots of a kept fragment may be filled anew."""

    names: tuple[str, ...]  # of the slots
    edges: Sequence[int]  # the pieces with whose ends each of the slots begins and ends


class LastFill(NamedTuple):
    """How a `Refillable` was filled last."""

    state: object  # what it was filled for
    since: float  # unix seconds between which this HTML is right
    until: float
    html: bytes
    places: "array[int]"  # where each slot begins and ends in it; an array takes the least memory


NEVER_FILLED = LastFill(None, 0, 0, b"", array("I"))


class Values(NamedTuple):
    """What the slots of a `Refillable` are filled with."""

    slots: Mapping[str, Html]
    state: object  # from which they follow
    since: float  # unix seconds between which they are right
    until: float

    def as_filled(self, html: bytes, places: "array[int]") -> LastFill:
        return LastFill(self.state, self.since, self.until, html, places)


class Refillable:
    """HTML that is kept as it was filled last, and knows where some of its slots are: an old post looks the same all
    day to most viewers."""

    __slots__ = ("_names", "filled")

    def __init__(self, names: tuple[str, ...], filled: LastFill) -> None:
        """`names`: of its slots, in their order."""
        self._names = names
        self.filled = filled  # threads may share it, so it is replaced as a whole

    def filled_but(self, filled: LastFill, instead: Mapping[str, Html]) -> bytes:
        """The HTML as it was filled, with these values in their slots."""
        html, places = filled.html, filled.places
        parts: list[bytes] = []
        read = 0
        for number, name in enumerate(self._names):
            if name in instead:
                parts += [html[read : places[2 * number]], instead[name].encode()]
                read = places[2 * number + 1]
        return b"".join((*parts, html[read:]))

    def fill(self, values: Values) -> LastFill:
        """The HTML with these values."""
        *_, html, places = self.filled
        parts: list[bytes] = []
        filled: list[int] = []
        read = written = 0
        for name, start, end in zip(self._names, places[::2], places[1::2], strict=True):
            value = values.slots[name].encode()
            parts += [html[read:start], value]
            written += start - read
            filled += (written, written + len(value))
            written, read = written + len(value), end
        html = b"".join((*parts, html[read:]))
        last = self.filled = values.as_filled(html, array("I", filled))
        return last


class _Number(int):
    """A number that counts as itself and is shown as its placeholder."""

    placeholder: str

    def __str__(self) -> str:
        return self.placeholder

    def __html__(self) -> str:
        return self.placeholder


class Fragment:
    """A template that is filled. Each is a constant of a module."""

    every: ClassVar[list["Fragment"]] = []

    def __init__(
        self,
        template: str,
        *,
        shape: Mapping[str, Sequence[Hashable]] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        """`shape`: the values of each name that is not just true or false."""
        self.template = template
        self.names = NOT_READ
        self._shape = dict(shape or {})
        self._constants = dict(constants or {})
        self._rendered: dict[tuple[Hashable, ...], Shaped] = {}
        Fragment.every.append(self)

    def fill(self, language: str, **given: Any) -> Html:
        """The HTML of this fragment: `given` has a value for each name of the shape, each slot and each number.

        Raises FragmentError for a missing or an unknown name, and for a value that the shape does not have."""
        return Html(b"".join(self._shaped(language, given).filled(given)).decode())

    def fill_as_sent(self, language: str, **given: Any) -> bytes:
        """Like `fill`, in bytes: pages and cards are joined so. Both take such bytes for a slot, too."""
        return b"".join(self._shaped(language, given).filled(given))

    def to_keep(self, language: str, values: Values, **given: Any) -> Refillable:
        """The HTML of this fragment, to be kept: what `values` has may be filled anew, `given` has the rest.

        Raises FragmentError as `fill`."""
        given |= values.slots
        return self._shaped(language, given).to_keep(given, values)

    def _shaped(self, language: str, given: dict[str, Any]) -> Shaped:
        """The fragment in this shape, whose names are removed from `given`. Raises FragmentError."""
        if self.names is NOT_READ:
            self.load()
        names = self.names
        try:
            key: tuple[Hashable, ...] = (language, *map(given.pop, names.shape))
            for name in names.numbers:
                key += (_plural_form(language, given[name]),)
        except KeyError as error:
            raise FragmentError(f"{self.template}: {error} is not given") from error
        if given.keys() != names.to_fill:
            unlike = sorted(given.keys() ^ names.to_fill)
            raise FragmentError(f"{self.template}: {unlike} missing, or not in the template")
        return self._rendered.get(key) or self._render(names, key, given)

    def load(self) -> None:
        """Load the template and read its names. Raises FragmentError."""
        self.names = names_of(self.template, self._shape, self._constants)

    @classmethod
    def load_all(cls) -> None:
        """Load every fragment of the site. Raises FragmentError."""
        import_module(settings.ROOT_URLCONF)  # it leads to all views, and they to all fragments
        for fragment in cls.every:
            fragment.load()

    def _render(self, names: FragmentNames, key: tuple[Hashable, ...], given: dict[str, Any]) -> Shaped:
        """Render the fragment in one language and shape. Raises FragmentError."""
        language, *values = key
        shape = dict(zip(names.shape, values, strict=False))
        for name, value in shape.items():
            if value not in names.shape[name]:
                raise FragmentError(f"{self.template}: {name}={value!r} is not in its shape")
        to_fill = sorted(names.to_fill)
        places = {name: f"{_SECRET}{number:03}" for number, name in enumerate(to_fill)}
        context = {**self._constants, **shape, **{name: Html(places[name]) for name in names.slots}}
        for name in names.numbers:
            context[name] = _Number(given[name])
            context[name].placeholder = places[name]
        with override(str(language)):
            html = _INDENTATION.sub("\n", _BEFORE_BLOCK.sub("", loader.render_to_string(self.template, context)))
        pieces = _PLACEHOLDER.split(html)
        if any(_SECRET[:8] in piece for piece in pieces):
            raise FragmentError(f"{self.template}: a filter or a tag has changed the text of a slot")
        shaped = Shaped(pieces, [to_fill[int(number)] for number in pieces[1::2]])
        if settings.DEBUG:
            return shaped
        if len(self._rendered) >= MOST_SHAPES:
            self._rendered = {}
        self._rendered[key] = shaped
        return shaped


def escaped(text: str) -> Html:
    """A text as HTML."""
    return Html(_escaped(text))


def _escaped(value: Any) -> str:
    kind = value.__class__
    if kind is Html:
        return value  # type: ignore[no-any-return]
    if kind is str:
        return escape(value) if _needs_escaping(value) else value
    if kind is bytes:
        raise FragmentError("HTML in bytes is for slots alone")
    return str(value) if kind is int else conditional_escape(value)


def joined(parts: Iterable[str]) -> Html:
    """The parts as one piece of HTML. Texts among them are escaped."""
    return Html("".join([_escaped(part) for part in parts]))


def halves(html: Html, between: str) -> tuple[Html, Html]:
    """HTML before and after `between`, which it has once."""
    before, after = html.split(between)
    return Html(before), Html(after)


def with_line_breaks(html: Html) -> Html:
    """The HTML of a text, for where no stylesheet shows its line breaks, such as a feed."""
    return Html(html.replace("\r\n", "\n").replace("\n", "<br>"))


def active_language() -> str:
    """The code of the language of this request."""
    return get_language() or settings.LANGUAGE_CODE


@lru_cache(maxsize=5000)
def _plural_form(language: str, number: int) -> tuple[int, ...]:
    """Which plural form goes with this number: in a language, and in English, which has the texts that it lacks."""
    return tuple(int(translation(one).plural(number)) for one in (language, settings.LANGUAGE_CODE))
