from django.urls import path

from timeline.relations.actions import views

urlpatterns = [
    path("@<username:username>/follow/", views.follow, name="follow"),
    path("@<username:username>/unfollow/", views.unfollow, name="unfollow"),
]
