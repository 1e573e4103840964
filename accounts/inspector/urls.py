from django.urls import path

from accounts.inspector import views

urlpatterns = [
    path("inspect/", views.families, name="inspect"),
    path("inspect/<path:key>", views.one_key, name="inspect_key"),
]
