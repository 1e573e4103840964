"""Fragments: Django templates that are rendered once for each language and shape, and then filled.

A fragment declares what its template may show:
- The *shape* decides the structure: a few names, each with the values that it may have. `{% if own %}` asks one.
- A *slot* takes what differs from use to use: a text, which is escaped, or HTML that is marked safe, such as another
  filled fragment. When the template is rendered, a slot has no value yet: a placeholder stands in its place. So a
  template can show a slot and cannot ask for its value.
- A *number* is a slot that a `{% blocktranslate count %}` counts with. The language decides the words around it.
- A *constant* is the same for every use.

To fill a fragment is to join strings. Nothing is cached by content, so nothing becomes stale, no viewer gets what
was made for another, and the thousandth page costs what the first one did. `fragment_checks.py` compares the template
with the declaration when the template is loaded.
"""

import re
import secrets
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, ClassVar

from django.conf import settings
from django.template import loader
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override
from django.utils.translation.trans_real import translation

from retwis_site.rendering.fragment_checks import Declaration, FragmentError, check

EITHER = (False, True)

Html = SafeString  # a text that is inserted as it is. Only this module makes one, and the pictures of users
NOTHING = Html("")

# Digits, so that a placeholder is allowed wherever an id or a name is, also in `{% url %}`. Nobody can guess it. No
# text of a user is searched for it anyway: slots are filled after the template was cut.
_SECRET = "".join(secrets.choice("123456789") for _ in range(40))
_needs_escaping = re.compile("[&<>\"']").search
_PLACEHOLDER = re.compile(rf"{_SECRET}(\d{{3}})")


# Pieces of HTML: those in odd places stand for slots. The second part says which.
_Rendered = tuple[list[str], tuple[tuple[int, str], ...]]


class _Number(int):
    """A number that counts as itself and is shown as its placeholder."""

    placeholder: str

    def __str__(self) -> str:
        return self.placeholder

    def __html__(self) -> str:
        return self.placeholder


class Fragment:
    """A template with its declaration. Each is a constant of a module."""

    every: ClassVar[list["Fragment"]] = []

    def __init__(
        self,
        template: str,
        *,
        slots: Sequence[str] = (),
        numbers: Sequence[str] = (),
        shape: Mapping[str, Sequence[Hashable]] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        self.template = template
        self.slots = tuple(slots)
        self.numbers = tuple(numbers)
        self.shape = dict(shape or {})
        self.constants = dict(constants or {})
        self._shape_names = tuple(self.shape)
        self._to_fill = frozenset((*self.slots, *self.numbers))
        self._rendered: dict[tuple[Hashable, ...], _Rendered] = {}
        self._is_checked = False
        Fragment.every.append(self)

    def fill(self, language: str, **given: Any) -> Html:
        """The HTML of this fragment: `given` has a value for each name of the shape, each slot and each number.

        Raises FragmentError for a missing or an undeclared name, and for a value that the shape does not have."""
        try:
            shape = map(given.pop, self._shape_names)
            if self.numbers:
                key = (language, *shape, *[_plural_form(language, given[name]) for name in self.numbers])
            else:
                key = (language, *shape)
        except KeyError as error:
            raise FragmentError(f"{self.template}: {error} is not given") from error
        rendered = self._rendered.get(key)
        if rendered is None or len(given) != len(self._to_fill):
            rendered = self._render(key, given)
        pieces, places = rendered
        filled = pieces.copy()
        for place, name in places:
            value = given[name]
            filled[place] = value if value.__class__ is Html else _escaped(value)
        return Html("".join(filled))

    def load(self) -> None:
        """Load the template and compare it with the declaration. Raises FragmentError."""
        names = Declaration(self.template, self.slots, self.numbers, (*self._shape_names, *self.constants))
        check(loader.get_template(self.template), names)
        self._is_checked = True

    @classmethod
    def load_all(cls) -> None:
        """Load every fragment of the site. Raises FragmentError."""
        import_module(settings.ROOT_URLCONF)  # it leads to all views, and they to all fragments
        for fragment in cls.every:
            fragment.load()

    @classmethod
    def render_anew(cls) -> None:
        """Forget what was rendered: the translations have changed. For tests."""
        for fragment in cls.every:
            fragment._rendered.clear()

    def _render(self, key: tuple[Hashable, ...], given: Mapping[str, Any]) -> "_Rendered":
        """The fragment in one language and shape. Raises FragmentError as `fill` does."""
        if given.keys() != self._to_fill:
            raise FragmentError(f"{self.template}: {sorted(given.keys() ^ self._to_fill)} missing or not declared")
        language, *values = key
        shape = dict(zip(self._shape_names, values, strict=False))
        for name, value in shape.items():
            if value not in self.shape[name]:
                raise FragmentError(f"{self.template}: {name}={value!r} is not in its shape")
        if not self._is_checked:
            self.load()
        places = {name: f"{_SECRET}{number:03}" for number, name in enumerate(sorted(self._to_fill))}
        context = {**self.constants, **shape, **{name: Html(places[name]) for name in self.slots}}
        for name in self.numbers:
            context[name] = _Number(given[name])
            context[name].placeholder = places[name]
        with override(str(language)):
            html = loader.render_to_string(self.template, context)
        names = sorted(self._to_fill)
        pieces = _PLACEHOLDER.split(html)
        if any(_SECRET[:8] in piece for piece in pieces):
            raise FragmentError(f"{self.template}: a filter or a tag has changed the text of a slot")
        rendered = pieces, tuple((place, names[int(pieces[place])]) for place in range(1, len(pieces), 2))
        if not settings.DEBUG:
            self._rendered[key] = rendered
        return rendered


def escaped(text: str) -> Html:
    """A text as HTML."""
    return Html(_escaped(text))


def _escaped(value: Any) -> str:
    kind = value.__class__
    if kind is str:
        return escape(value) if _needs_escaping(value) else value
    return str(value) if kind is int else conditional_escape(value)


def joined(parts: Iterable[str]) -> Html:
    """The parts as one piece of HTML. Texts among them are escaped."""
    return Html("".join([part if part.__class__ is Html else _escaped(part) for part in parts]))


def active_language() -> str:
    """The code of the language of this request."""
    return get_language() or settings.LANGUAGE_CODE


_few: dict[tuple[str, int], int] = {}  # the plural forms of small numbers


def _plural_form(language: str, number: int) -> int:
    """Which of a language's plural forms goes with this number."""
    form = _few.get((language, number))
    if form is None:
        form = int(translation(language).plural(number))
        if number < 1000:
            _few[language, number] = form
    return form
