from django.urls import path

from accounts.settings import views

urlpatterns = [
    path("settings/", views.profile_settings, name="settings"),
    path("settings/password/", views.password, name="password"),
    path("settings/appearance/", views.appearance, name="appearance"),
    path("settings/language/", views.language, name="language"),
    path("settings/delete/", views.delete_account, name="delete_account"),
]
