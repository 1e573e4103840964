"""Django's sentences that the site's forms show. `make messages` finds them here and adds them to the site's catalogs.

So each language has one style. Django's own catalogs lack some sentences, and those about passwords belong to an app
that the site does not install.
"""

from django.utils.translation import gettext_noop, ngettext_lazy

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
