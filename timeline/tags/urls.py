from django.urls import path

from timeline.tags import views

urlpatterns = [
    path("complete/", views.complete, name="complete"),
    path("tags/", views.tags, name="tags"),
    path("tags/<str:tag>/", views.tag, name="tag"),
    path("tags/<str:tag>/follow/", views.follow_tag, name="follow_tag"),
    path("tags/<str:tag>/unfollow/", views.unfollow_tag, name="unfollow_tag"),
]
