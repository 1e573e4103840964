from django.urls import path

from accounts.community.joining import views

urlpatterns = [
    path("settings/invites/", views.invites, name="invites"),
    path("moderation/joining/", views.joining, name="joining"),
]
