"""A field of a form, as a feature declares it."""

from dataclasses import dataclass

from django.utils.functional import Promise


@dataclass(frozen=True)
class FormField:
    """`kind` is textarea, text, password or hidden. Error pages show the field again, a password without its text."""

    name: str
    kind: str
    label: str | Promise = ""
