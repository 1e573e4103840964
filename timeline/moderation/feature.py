"""Moderation: users report people and posts, and staff decides."""

from retwis_site.features import Feature
from retwis_site.http.form_fields import fields_of
from retwis_site.store import keys
from timeline.moderation import views
from timeline.moderation.queue import staff_menu
from timeline.moderation.upkeep import (
    REPORTS as REPORT_LINES,
    ReportChecks,
    account_lines,
    ask_picture_use,
    at_work_by,
    finish_report,
    remove_reports,
)

FEATURE = Feature(
    urls="timeline.moderation.views",
    jobs={"report": finish_report},
    put_off={},
    limits=(views.REPORTS,),
    waiting={"moderation": keys.reports},
    picture_uses={"report": ask_picture_use},
    staff_menu=staff_menu,
    form_fields={
        **dict.fromkeys(("report_person", "report_post"), fields_of(views.ReportForm)),
        "moderation_report": fields_of(views.DecisionForm),
        "moderation_person": (*fields_of(views.ReasonForm), *fields_of(views.NoteForm)),
        **dict.fromkeys(("moderation_post", "moderation_picture"), fields_of(views.ReasonForm)),
    },
    searchers=(ReportChecks,),
    account_lines=account_lines,
    site_lines=(REPORT_LINES,),
    account_sets={keys.reports_by: at_work_by},
    remove_account=remove_reports,
)
