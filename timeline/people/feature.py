"""Pages of people: followers, following, the directory, search, suggestions; whom and what a user hides."""

from retwis_site.features import Feature
from retwis_site.http.form_fields import fields_of
from timeline.people.views import MutedWordForm

FEATURE = Feature(urls="timeline.people.views", form_fields={"muted_words": fields_of(MutedWordForm)})
