from django.urls import path

from accounts.signing_in import views

urlpatterns = [
    path("register/", views.register, name="register"),
    path("login/", views.login, name="login"),
    path("settings/", views.profile_settings, name="settings"),
    path("settings/password/", views.password, name="password"),
    path("settings/appearance/", views.appearance, name="appearance"),
    path("settings/language/", views.language, name="language"),
    path("settings/delete/", views.delete_account, name="delete_account"),
    path("logout/", views.logout, name="logout"),
]
