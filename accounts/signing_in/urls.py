from django.urls import path

from accounts.signing_in import views

urlpatterns = [
    path("register/", views.register, name="register"),
    path("invited/<str:code>/", views.invited, name="invited"),
    path("login/", views.login, name="login"),
    path("logout/", views.logout, name="logout"),
]
