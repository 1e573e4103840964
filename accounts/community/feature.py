"""The community: roles, sanctions, and the log of staff."""

from django.utils.translation import gettext_lazy as _

from accounts.community.checks import CommunityChecks, finish_removal, remove_community
from accounts.community.lines import LOG, SANCTIONS, STAFF, account_lines
from accounts.community.roles import finish_role
from accounts.community.sanctioned.views import APPEALS
from accounts.community.sanctions import ask_open, finish_answer, finish_appeal, finish_sanction
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="accounts.community.sanctioned.views",
    limits=(APPEALS,),
    waiting=ask_open,
    form_fields={"appeal": (FormField("text", "textarea", _("Your appeal")), FormField("token", "hidden"))},
    jobs={
        "role": finish_role,
        "sanction": finish_sanction,
        "appeal": finish_appeal,
        "answer": finish_answer,
        "removal": finish_removal,
    },
    inconsistencies=lambda store: CommunityChecks(store).inconsistencies(),
    orphans=lambda store: CommunityChecks(store).orphans(),
    account_lines=account_lines,
    site_lines=(STAFF, SANCTIONS, LOG),
    remove_account=remove_community,
)
