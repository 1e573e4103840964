from django.urls import path

from timeline.timelines import views

urlpatterns = [
    path("", views.home, name="home"),
    path("new/", views.arrivals, name="arrivals"),
    path("timeline/", views.everyone, name="timeline"),
    path("@<username:username>/", views.profile, name="profile"),
]
