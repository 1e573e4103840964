"""The fields of a form that a feature declares, those that several forms share, and which texts count as empty."""

from dataclasses import dataclass
from typing import Any

import regex
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator
from django.utils.functional import Promise
from django.utils.translation import gettext_noop, ngettext_lazy

# ---- A text that nobody can see counts as empty, in every form and every command.


# Not seen: controls, formats, spaces, unassigned and private characters; what Unicode ignores where no font has it,
# such as variation selectors and Hangul fillers; the empty Braille pattern. Seen: a mark alone, which browsers
# draw on a dotted circle, formats of Arabic and Syriac that have a shape, such as the sign of the end of a verse, and
# emoji that are newer than these tables. members.js has the same pattern.
SEEN_FORMATS = r"\u0600-\u0605\u06dd\u070f\u08e2"
SEEN = r"(?![\p{DI}\u2800])[\p{L}\p{M}\p{N}\p{P}\p{S}\p{ExtPict}" + SEEN_FORMATS + "]"
_seen = regex.compile(SEEN).search


def is_visible(text: str) -> bool:
    """Whether a reader sees anything of a text."""
    return _seen(text) is not None


# ---- What a feature declares.


@dataclass(frozen=True)
class FormField:
    """`kind` is textarea, text, password, hidden, file or files. Error pages show the field again; a password comes
    back empty, and so does any other secret, such as a code."""

    name: str
    kind: str
    label: str | Promise = ""


def hidden(*names: str) -> tuple[FormField, ...]:
    """Fields of a form with secrets that error pages keep without showing them, as they keep all of other forms."""
    return tuple(FormField(name, "hidden") for name in names)


_KINDS = {forms.TextInput: "text", forms.Textarea: "textarea", forms.PasswordInput: "password", forms.FileInput: "file"}


def fields_of(form: type[forms.Form]) -> tuple[FormField, ...]:
    """The fields of a form, under its labels; choices and numbers hidden. A secret that is no PasswordField has to be
    declared on its own."""
    fields = form.base_fields.items()
    return tuple(FormField(name, _KINDS.get(type(one.widget), "hidden"), one.label or "") for name, one in fields)


# ---- What several forms share.


class MaxLength(MaxLengthValidator):
    """Refuses a text that is too long. The error says how many characters are too many.

    Unlike a field's `max_length`, it does not make browsers silently cut off a pasted text.
    """

    message = ngettext_lazy("%(number)d character too many.", "%(number)d characters too many.", "number")

    def __call__(self, value: Any) -> None:
        too_many = self.clean(value) - self.limit_value
        if too_many > 0:
            raise ValidationError(self.message, code=self.code, params={"number": too_many})


_without_nulls = ProhibitNullCharactersValidator()


class TextField(forms.CharField):
    """A text that people read; empty when nobody can see it. A validator checks the length."""

    def __init__(self, longest: int, **kwargs: Any) -> None:
        self.longest = longest
        super().__init__(validators=[MaxLength(longest), *kwargs.pop("validators", ())], **kwargs)

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value))
        _without_nulls(text)  # before a text of them alone becomes empty
        return text if is_visible(text) else ""


# ---- Django's sentences that the site's forms show. `make messages` finds them here and adds them to the site's
# catalogs.
#
# So each language has one style. Django's own catalogs lack some sentences, and those about passwords belong to an app
# that the site does not install.


SENTENCES = (
    gettext_noop("This field is required."),
    gettext_noop("Enter a valid value."),
    gettext_noop("Null characters are not allowed."),
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
    ),
    ngettext_lazy(
        "Your password must contain at least %(min_length)d character.",
        "Your password must contain at least %(min_length)d characters.",
    ),
    gettext_noop("This password is too common."),
    gettext_noop("Your password can’t be a commonly used password."),
)
