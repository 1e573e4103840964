from django.urls import path

from timeline.conversation import views

urlpatterns = [
    path("@<username:username>/<id:pid>/", views.post, name="post"),
    path("@<username:username>/<id:pid>/quotes/", views.quotes, name="quotes"),
]
