from django.urls import path, register_converter

from timeline.feeds import atom_and_rss, sitemap
from timeline.posts.url_converters import IdConverter, UsernameConverter
from timeline.timelines import views

register_converter(UsernameConverter, "username")
register_converter(IdConverter, "id")

urlpatterns = [
    path("", views.home, name="home"),
    path("new/", views.arrivals, name="arrivals"),
    path("post/", views.publish, name="publish"),
    path("settings/download/", views.download, name="download"),
    path("timeline/", views.everybody, name="timeline"),
    path("people/", views.people, name="people"),
    path("timeline/atom/", atom_and_rss.timeline_atom, name="timeline_atom"),
    path("timeline/rss/", atom_and_rss.timeline_rss, name="timeline_rss"),
    path("@<username:username>/", views.profile, name="profile"),
    path("@<username:username>/followers/", views.followers, name="followers"),
    path("@<username:username>/following/", views.following, name="following"),
    path("@<username:username>/atom/", atom_and_rss.profile_atom, name="profile_atom"),
    path("@<username:username>/rss/", atom_and_rss.profile_rss, name="profile_rss"),
    path("@<username:username>/follow/", views.follow, name="follow"),
    path("@<username:username>/unfollow/", views.unfollow, name="unfollow"),
    path("@<username:username>/<id:pid>/", views.post, name="post"),
    path("@<username:username>/<id:pid>/delete/", views.delete, name="delete"),
    path("robots.txt", sitemap.robots, name="robots"),
    path("sitemap.xml", sitemap.sitemap, name="sitemap"),
    path("sitemap-<slug:section>.xml", sitemap.sitemap_part, name="sitemap_part"),
]
