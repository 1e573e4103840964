from django.urls import path

from timeline.search import views

urlpatterns = [path("search/", views.search, name="search")]
