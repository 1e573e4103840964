from django.urls import path

from timeline.posts import views
from timeline.posts.composing import edit_views
from timeline.posts.composing import views as composing

urlpatterns = [
    path("post/", composing.publish, name="publish"),
    path("compose/", composing.compose, name="compose"),
    path("compose/discard/", composing.discard, name="discard"),
    path("@<username:username>/<id:pid>/delete/", views.delete, name="delete"),
    path("@<username:username>/<id:pid>/edit/", edit_views.edit, name="edit"),
    path("@<username:username>/<id:pid>/history/", edit_views.history, name="history"),
]
