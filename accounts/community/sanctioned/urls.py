from django.urls import path

from accounts.community.sanctioned import views

urlpatterns = [path("appeal/", views.appeal, name="appeal")]
