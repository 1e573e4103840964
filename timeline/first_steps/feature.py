"""The first steps of a new account: a name and a few words, whom to follow, the first post. All may be skipped."""

from retwis_site.features import Feature
from retwis_site.http.form_fields import fields_of, hidden
from timeline.first_steps.views import FirstStepsForm

FEATURE = Feature(
    urls="timeline.first_steps.views",
    first_page="first_steps",
    uploads=("first_steps",),
    form_fields={"first_steps": (*fields_of(FirstStepsForm), *hidden("next"))},
)
