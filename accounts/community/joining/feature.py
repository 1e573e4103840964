"""Joining: invitations, applications, and who invited whom."""

from django.utils.translation import gettext_lazy as _

from accounts.community.joining.answers import finish_application
from accounts.community.joining.checks import JOINING, JoiningChecks, account_lines
from accounts.joining.invitations import finish_use
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField
from retwis_site.store.rate_limits import Limit

# ---- Rate limits of invitations and of staff's answers.


INVITATIONS = Limit(
    *("invite", 60, 3600, "invitations"),
    _("Too many invitations in a short time. The limit is %(times)d."),
)
ANSWERS = Limit(
    *("answer", 600, 3600, "answers to applications"),
    _("Too many answers in a short time. The limit is %(times)d."),
)


# ---- What it declares


FEATURE = Feature(
    urls="accounts.community.joining.views",
    limits=(INVITATIONS, ANSWERS),
    jobs={"application": finish_application, "invited": finish_use},
    inconsistencies=lambda store: JoiningChecks(store).inconsistencies(),
    orphans=lambda store: JoiningChecks(store).orphans(),
    account_lines=account_lines,
    site_lines=JOINING,
    form_fields={
        "invites": (FormField("revoke", "hidden"),),
        "joining": tuple(FormField(name, "hidden") for name in ("username", "at", "answer", "reason")),
    },
)
