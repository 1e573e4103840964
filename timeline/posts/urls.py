from django.urls import path

from timeline.posts import views

urlpatterns = [
    path("@<username:username>/<id:pid>/delete/", views.delete, name="delete"),
]
