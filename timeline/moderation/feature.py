"""Moderation: users report people and posts, and staff decides."""

from retwis_site.features import Feature
from retwis_site.http.form_fields import fields_of
from retwis_site.store import keys
from timeline.moderation import queue, upkeep, views

FEATURE = Feature(
    urls="timeline.moderation.views",
    jobs={"report": upkeep.finish_report},
    put_off={},
    limits=(views.REPORTS,),
    waiting={"moderation": keys.reports},
    picture_uses={"report": upkeep.ask_picture_use},
    staff_menu=queue.staff_menu,
    form_fields={
        **dict.fromkeys(("report_person", "report_post"), fields_of(views.ReportForm)),
        "moderation_report": fields_of(views.DecisionForm),
        "moderation_person": (*fields_of(views.ReasonForm), *fields_of(views.NoteForm)),
        **dict.fromkeys(("moderation_post", "moderation_picture"), fields_of(views.ReasonForm)),
    },
    searchers=(upkeep.ReportChecks,),
    account_lines=upkeep.account_lines,
    site_lines=(upkeep.REPORTS,),
    account_sets={keys.reports_by: upkeep.at_work_by},
    remove_account=upkeep.remove_reports,
)
