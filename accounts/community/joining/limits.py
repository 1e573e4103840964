"""Rate limits of invitations and of staff's answers."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

INVITATIONS = Limit(
    *("invite", 60, 3600, "invitations"),
    _("Too many invitations in a short time. The limit is %(times)d."),
)
ANSWERS = Limit(
    *("answer", 600, 3600, "answers to applications"),
    _("Too many answers in a short time. The limit is %(times)d."),
)
