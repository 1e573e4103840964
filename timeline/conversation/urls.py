from django.urls import path

from timeline.conversation import acting, views

urlpatterns = [
    path("@<username:username>/<id:pid>/", views.post, name="post"),
    path("@<username:username>/<id:pid>/quotes/", views.quotes, name="quotes"),
    path("@<username:username>/<id:pid>/like/", acting.like, name="like"),
    path("@<username:username>/<id:pid>/unlike/", acting.unlike, name="unlike"),
    path("@<username:username>/<id:pid>/bookmark/", acting.bookmark, name="bookmark"),
    path("@<username:username>/<id:pid>/unbookmark/", acting.unbookmark, name="unbookmark"),
]
