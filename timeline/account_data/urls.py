from django.urls import path

from timeline.account_data import views

urlpatterns = [path("settings/download/", views.download, name="download")]
