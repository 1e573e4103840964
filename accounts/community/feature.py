"""The community: roles, sanctions, and the log of staff."""

from django.utils.translation import gettext_lazy as _

from accounts.community.roles import finish_role
from accounts.community.sanctioned.limits import APPEALS
from accounts.community.sanctions import finish_answer, finish_appeal, finish_removal, finish_sanction
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="accounts.community.sanctioned.urls",
    limits=(APPEALS,),
    form_fields={"appeal": (FormField("text", "textarea", _("Your appeal")), FormField("token", "hidden"))},
    jobs={
        "role": finish_role,
        "sanction": finish_sanction,
        "appeal": finish_appeal,
        "answer": finish_answer,
        "removal": finish_removal,
    },
)
