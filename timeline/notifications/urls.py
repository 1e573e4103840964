from django.urls import path

from timeline.notifications import views

urlpatterns = [
    path("notifications/", views.notifications, name="notifications"),
    path("notifications/number/", views.news, name="news"),
    path("settings/notifications/", views.kinds, name="notification_settings"),
]
