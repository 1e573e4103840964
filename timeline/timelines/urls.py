from django.urls import path

from timeline.timelines import views

urlpatterns = [
    path("", views.home, name="home"),
    path("new/", views.arrivals, name="arrivals"),
    path("timeline/", views.everyone, name="timeline"),
    path("@<username:username>/", views.profile, name="profile"),
    path("@<username:username>/replies/", views.replies, name="replies"),
    path("@<username:username>/<id:pid>/pin/", views.pin, name="pin"),
    path("@<username:username>/<id:pid>/unpin/", views.unpin, name="unpin"),
]
