from django.urls import path

from timeline.moderation import reporting
from timeline.moderation.staff import views as staff

PERSON = "@<username:username>/"

urlpatterns = [
    path(f"{PERSON}report/", reporting.report_person, name="report_person"),
    path(f"{PERSON}<id:pid>/report/", reporting.report_post, name="report_post"),
    path(f"{PERSON}reported/", reporting.reported, name="reported"),
    path("moderation/", staff.moderation, name="moderation"),
    path("moderation/reports/<id:rid>/", staff.report, name="moderation_report"),
    path("moderation/people/", staff.people, name="moderation_people"),
    path("moderation/people/<username:username>/", staff.person, name="moderation_person"),
    path("moderation/log/", staff.log, name="moderation_log"),
]
