from django.urls import path

from timeline.relations.actions import views

PERSON = "@<username:username>/"

urlpatterns = [
    path(f"{PERSON}follow/", views.follow, name="follow"),
    path(f"{PERSON}unfollow/", views.unfollow, name="unfollow"),
    path(f"{PERSON}block/", views.block, name="block"),
    path(f"{PERSON}unblock/", views.unblock, name="unblock"),
    path(f"{PERSON}mute/", views.mute, name="mute"),
    path(f"{PERSON}unmute/", views.unmute, name="unmute"),
]
