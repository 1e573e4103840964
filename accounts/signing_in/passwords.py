"""The rules for a new password, used by the forms and the commands."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

LONGEST_PASSWORD = 128  # characters; to hash a megabyte would keep a process busy


def check_new_password(password: str) -> None:
    """Raises ValidationError for a password that is too long, too short, too common, or has a null character."""
    if len(password) > LONGEST_PASSWORD:
        raise ValidationError(_("At most %(number)d characters.") % {"number": LONGEST_PASSWORD})
    if "\0" in password:
        raise ValidationError(_("Null characters are not allowed."))
    validate_password(password)
