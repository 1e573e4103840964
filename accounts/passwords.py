"""What a new password must be like, for the form and the commands alike."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

LONGEST_PASSWORD = 128  # characters; hashing a megabyte would keep a worker busy


def check_new_password(password: str) -> None:
    """Raises ValidationError for a password that is too long, too short, too common, or no proper text."""
    if len(password) > LONGEST_PASSWORD:
        raise ValidationError(f"At most {LONGEST_PASSWORD} characters.")
    if "\0" in password:
        raise ValidationError("Null characters are not allowed.")
    validate_password(password)
