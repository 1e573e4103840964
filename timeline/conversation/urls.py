from django.urls import path

from timeline.conversation import acting, views

urlpatterns = [
    path("@<username:username>/<id:pid>/", views.post, name="post"),
    path("@<username:username>/<id:pid>/quotes/", views.quotes, name="quotes"),
    path("@<username:username>/<id:pid>/like/", acting.like, name="like"),
    path("@<username:username>/<id:pid>/unlike/", acting.unlike, name="unlike"),
    path("@<username:username>/<id:pid>/bookmark/", acting.bookmark, name="bookmark"),
    path("@<username:username>/<id:pid>/unbookmark/", acting.unbookmark, name="unbookmark"),
    path("@<username:username>/<id:pid>/repost/", acting.repost, name="repost"),
    path("@<username:username>/<id:pid>/unrepost/", acting.unrepost, name="unrepost"),
    path("@<username:username>/<id:pid>/mute/", acting.mute_thread, name="mute_thread"),
    path("@<username:username>/<id:pid>/unmute/", acting.unmute_thread, name="unmute_thread"),
    path("@<username:username>/<id:pid>/likes/", views.likes_of, name="likes_of"),
    path("@<username:username>/<id:pid>/reposts/", views.reposts_of, name="reposts_of"),
    path("likes/", views.likes, name="likes"),
    path("bookmarks/", views.bookmarks, name="bookmarks"),
]
