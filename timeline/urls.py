from django.urls import path, register_converter

from timeline import crawlers, feeds, views
from timeline.converters import IdConverter, UsernameConverter

register_converter(UsernameConverter, "username")
register_converter(IdConverter, "id")

urlpatterns = [
    path("", views.home, name="home"),
    path("new/", views.arrivals, name="arrivals"),
    path("post/", views.publish, name="publish"),
    path("settings/download/", views.download, name="download"),
    path("timeline/", views.everybody, name="timeline"),
    path("people/", views.people, name="people"),
    path("timeline/atom/", feeds.timeline_atom, name="timeline_atom"),
    path("timeline/rss/", feeds.timeline_rss, name="timeline_rss"),
    path("@<username:username>/", views.profile, name="profile"),
    path("@<username:username>/followers/", views.followers, name="followers"),
    path("@<username:username>/following/", views.following, name="following"),
    path("@<username:username>/atom/", feeds.profile_atom, name="profile_atom"),
    path("@<username:username>/rss/", feeds.profile_rss, name="profile_rss"),
    path("@<username:username>/follow/", views.follow, name="follow"),
    path("@<username:username>/unfollow/", views.unfollow, name="unfollow"),
    path("@<username:username>/<id:pid>/", views.post, name="post"),
    path("@<username:username>/<id:pid>/delete/", views.delete, name="delete"),
    path("robots.txt", crawlers.robots, name="robots"),
    path("sitemap.xml", crawlers.sitemap, name="sitemap"),
    path("sitemap-<slug:section>.xml", crawlers.sitemap_part, name="sitemap_part"),
]
