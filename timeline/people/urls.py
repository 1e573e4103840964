from django.urls import path

from timeline.people import views

urlpatterns = [
    path("people/", views.people, name="people"),
    path("@<username:username>/followers/", views.followers, name="followers"),
    path("@<username:username>/following/", views.following, name="following"),
]
