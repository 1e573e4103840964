"""Pages of people: followers, following, the directory, search, suggestions; whom and what a user hides."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="timeline.people.views",
    form_fields={
        "muted_words": (FormField("words", "text", _("Word or phrase")),),
    },
)
