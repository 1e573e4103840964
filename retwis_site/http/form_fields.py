"""The fields of a form that a feature declares."""

from dataclasses import dataclass

from django.utils.functional import Promise


@dataclass(frozen=True)
class FormField:
    """`kind` is textarea, text, password or hidden. Error pages show the field again; a password comes back empty."""

    name: str
    kind: str
    label: str | Promise = ""
