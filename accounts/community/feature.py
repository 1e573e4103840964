"""The community: roles, sanctions, and the log of staff."""

from accounts.community.roles import finish_role
from accounts.community.sanctions import finish_answer, finish_appeal, finish_removal, finish_sanction
from retwis_site.features import Feature

FEATURE = Feature(
    jobs={
        "role": finish_role,
        "sanction": finish_sanction,
        "appeal": finish_appeal,
        "answer": finish_answer,
        "removal": finish_removal,
    },
)
