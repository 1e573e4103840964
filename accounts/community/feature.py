"""The community: roles, sanctions, the log of staff, the site's own words, invitations and applications."""

from math import inf

from django.utils.translation import gettext_lazy as _

from accounts.community import sanctions, views
from accounts.community.acts import finish_allowed, finish_application, finish_picture, finish_role, finish_site
from accounts.community.checks import CommunityChecks, JoiningChecks, finish_removal, remove_community
from accounts.community.lines import JOINING, LOG, NOTES, SANCTIONS, SITE, STAFF, account_lines
from accounts.joining.joining import finish_applying, finish_use
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField, fields_of
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys

FEATURE = Feature(
    urls="accounts.community.views",
    limits=(views.APPEALS, views.DISMISSALS, views.SITE_CHANGES, views.INVITATIONS, views.ANSWERS),
    waiting={"appeals": keys.appeals, "joining": keys.applicants},
    jobs={
        "role": finish_role,
        "sanction": sanctions.finish_sanction,
        "sanction_end": sanctions.finish_end,
        "recount": sanctions.finish_recount,
        "appeal": sanctions.finish_appeal,
        "answer": sanctions.finish_answer,
        "removal": finish_removal,
        "staff_profile": finish_picture,
        "allowed_picture": finish_allowed,
        "site": finish_site,
        "application": finish_application,
        "applied": finish_applying,
        "invited": finish_use,
    },
    put_off=dict.fromkeys(("sanction_end", "removal"), inf),  # until the sanction itself says
    searchers=(CommunityChecks, JoiningChecks),
    account_lines=account_lines,
    site_lines=(STAFF, SANCTIONS, LOG, NOTES, SITE, lines_of(keys.user.fields["dismissed"]), *JOINING),
    remove_account=remove_community,
    form_fields={
        "appeal": fields_of(views.AppealForm),
        "edit_site": fields_of(views.SiteForm),
        "joining": (FormField("reason", "text", _("Reason for a refusal")),),
    },
)
