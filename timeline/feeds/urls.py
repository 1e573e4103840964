from django.urls import path

from timeline.feeds import atom_and_rss, sitemap

urlpatterns = [
    path("timeline/atom/", atom_and_rss.timeline_atom, name="timeline_atom"),
    path("timeline/rss/", atom_and_rss.timeline_rss, name="timeline_rss"),
    path("@<username:username>/atom/", atom_and_rss.profile_atom, name="profile_atom"),
    path("@<username:username>/rss/", atom_and_rss.profile_rss, name="profile_rss"),
    path("tags/<str:tag>/atom/", atom_and_rss.tag_atom, name="tag_atom"),
    path("robots.txt", sitemap.robots, name="robots"),
    path("sitemap.xml", sitemap.sitemap, name="sitemap"),
    path("sitemap-<slug:section>.xml", sitemap.sitemap_part, name="sitemap_part"),
]
