from django.urls import path

from accounts.community.site import views

urlpatterns = [
    path("about/", views.about, name="about"),
    path("rules/", views.rules, name="rules"),
    path("privacy/", views.privacy, name="privacy"),
    path("announcement/dismiss/", views.dismiss, name="dismiss"),
    path("moderation/site/", views.edit, name="edit_site"),
]
