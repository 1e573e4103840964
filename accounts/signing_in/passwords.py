"""The rules for a new password, used by the forms and the commands; and the hash by which it is kept."""

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from retwis_site.http.validators import MaxLength

LONGEST_PASSWORD = 128  # characters; to hash a megabyte would keep a process busy


def check_new_password(password: str) -> None:
    """Raises ValidationError for a password that is too long, too short, too common, or has a null character."""
    MaxLength(LONGEST_PASSWORD)(password)
    if "\0" in password:
        raise ValidationError(_("Null characters are not allowed."))
    validate_password(password)


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """19 MiB for each hash. With Django's default of 100 MiB, a few logins at once fill the memory of a small server.

    Source: OWASP Password Storage Cheat Sheet (m=19456 KiB, t=2, p=1).
    """

    time_cost = 2
    memory_cost = 19456  # KiB
    parallelism = 1
