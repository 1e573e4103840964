from django.urls import path

from timeline.explore import views

urlpatterns = [path("explore/", views.explore, name="explore")]
