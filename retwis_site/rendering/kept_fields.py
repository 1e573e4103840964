"""The text of a form that failed. Its error page shows the text again, so that nothing is lost.

Only declared fields are shown, and only at the form's own address. So another site cannot make this site show a form
that the other site invented.
"""

from dataclasses import dataclass

from django.http import HttpRequest

from retwis_site.features import features
from retwis_site.http.form_fields import FormField


@dataclass(frozen=True)
class KeptField:
    """A declared field and its text; the text of a password is empty."""

    field: FormField
    value: str


def kept_fields(request: HttpRequest) -> list[KeptField]:
    """The declared fields that the request has, in the order of declaration. No round trip."""
    url_name = request.resolver_match.url_name if request.resolver_match else None
    return [
        KeptField(field, "" if field.kind == "password" else request.POST.get(field.name, ""))
        for feature in features()
        for field in feature.form_fields.get(url_name or "", ())
        if field.name in request.POST
    ]
