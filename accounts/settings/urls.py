from django.urls import path

from accounts.settings import views
from accounts.settings.sessions import views as sessions

urlpatterns = [
    path("settings/", views.profile_settings, name="settings"),
    path("settings/password/", views.password, name="password"),
    path("settings/appearance/", views.appearance, name="appearance"),
    path("settings/language/", views.language, name="language"),
    path("settings/sessions/", sessions.sessions, name="sessions"),
    path("settings/sessions/everywhere/", sessions.log_out_everywhere, name="log_out_everywhere"),
    path("settings/delete/", views.delete_account, name="delete_account"),
]
