"""The community: roles, sanctions, the log of staff, the site's own words, invitations and applications."""

from math import inf

from django.utils.translation import gettext_lazy as _

from accounts.community import acts, checks, lines, sanctions, views
from accounts.joining.joining import finish_applying, finish_use
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField, fields_of
from retwis_site.store import keys

FEATURE = Feature(
    urls="accounts.community.views",
    limits=(views.APPEALS, views.DISMISSALS, views.SITE_CHANGES, views.INVITATIONS, views.ANSWERS),
    waiting={"appeals": keys.appeals, "joining": keys.applicants},
    jobs={
        "role": acts.finish_role,
        "sanction": sanctions.finish_sanction,
        "sanction_end": sanctions.finish_end,
        "recount": sanctions.finish_recount,
        "appeal": sanctions.finish_appeal,
        "answer": sanctions.finish_answer,
        "removal": checks.finish_removal,
        "staff_profile": acts.finish_picture,
        "allowed_picture": acts.finish_allowed,
        "site": acts.finish_site,
        "application": acts.finish_application,
        "applied": finish_applying,
        "invited": finish_use,
    },
    put_off=dict.fromkeys(("sanction_end", "removal"), inf),  # until the sanction itself says
    searchers=(checks.CommunityChecks, checks.JoiningChecks),
    account_lines=lines.account_lines,
    site_lines=lines.OF_SITE,
    remove_account=checks.remove_community,
    form_fields={
        "appeal": fields_of(views.AppealForm),
        "edit_site": fields_of(views.SiteForm),
        "joining": (FormField("reason", "text", _("Reason for a refusal")),),
    },
)
