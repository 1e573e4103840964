"""The first steps of a new account: a name and a few words, whom to follow, the first post. All may be skipped."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="timeline.first_steps.views",
    first_page="first_steps",
    uploads=("first_steps",),
    form_fields={
        "first_steps": (
            FormField("name", "text", _("Display name")),
            FormField("bio", "textarea", _("About you")),
            FormField("body", "textarea", _("Your post")),
            FormField("picture", "file", _("Picture")),
        )
    },
)
