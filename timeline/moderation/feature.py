"""Moderation: users report people and posts, and staff decides."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import AccountSet, Feature
from retwis_site.http.form_fields import FormField
from retwis_site.store import keys
from retwis_site.store.rate_limits import Limit
from timeline.moderation.queue import staff_menu
from timeline.moderation.reports import ask_picture_use, finish_report
from timeline.moderation.upkeep import REPORTS as REPORT_LINES
from timeline.moderation.upkeep import ReportChecks, account_lines, at_work_by, remove_reports

# ---- How often a user may report.


REPORTS = Limit("report", 30, 3600, "reports", _("Too many reports in a short time."))


# ---- What it declares


_REASON = FormField("reason", "textarea", _("Reason"))
_REPORT = (FormField("note", "textarea", _("What should the moderators know?")),)

FEATURE = Feature(
    urls="timeline.moderation.views",
    jobs={"report": finish_report},
    put_off={},
    limits=(REPORTS,),
    waiting={"moderation": keys.reports},
    picture_uses={"report": ask_picture_use},
    staff_menu=staff_menu,
    form_fields={
        "report_person": _REPORT,
        "report_post": _REPORT,
        "moderation_report": (_REASON, FormField("told", "textarea", _("Message to those who reported it"))),
        "moderation_person": (_REASON, FormField("note", "textarea", _("Note"))),
        "moderation_post": (_REASON,),
        "moderation_picture": (_REASON,),
    },
    searchers=(ReportChecks,),
    account_lines=account_lines,
    site_lines=(REPORT_LINES,),
    account_sets=(AccountSet(keys.reports_by, at_work_by),),
    remove_account=remove_reports,
)
