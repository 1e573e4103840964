"""Validators that several forms share."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.translation import ngettext_lazy


class MaxLength(MaxLengthValidator):
    """Refuses a text that is too long. The error says how many characters are too many.

    Unlike a field's `max_length`, it does not make browsers silently cut off a pasted text.
    """

    message = ngettext_lazy("%(number)d character too many.", "%(number)d characters too many.", "number")

    def __call__(self, value: Any) -> None:
        too_many = self.clean(value) - self.limit_value
        if too_many > 0:
            raise ValidationError(self.message, code=self.code, params={"number": too_many})
