from django.urls import path

from accounts.recovery import views

urlpatterns = [
    path("recover/", views.recover, name="recover"),
    path("reset/<str:token>/", views.reset, name="reset"),
    path("settings/recovery/", views.recovery, name="recovery"),
]
