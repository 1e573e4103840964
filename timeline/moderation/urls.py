from django.urls import path

from timeline.moderation.reporting import views as reporting

PERSON = "@<username:username>/"

urlpatterns = [
    path(f"{PERSON}report/", reporting.report_person, name="report_person"),
    path(f"{PERSON}<id:pid>/report/", reporting.report_post, name="report_post"),
    path(f"{PERSON}reported/", reporting.reported, name="reported"),
]
