from django.urls import path

from timeline.people import views
from timeline.people.hidden import views as hidden
from timeline.people.words import views as words

urlpatterns = [
    path("people/", views.people, name="people"),
    path("@<username:username>/followers/", views.followers, name="followers"),
    path("@<username:username>/following/", views.following, name="following"),
    path("settings/blocks/", hidden.blocks, name="hidden_people"),
    path("settings/words/", words.muted_words, name="muted_words"),
]
