"""What was typed into a form that could not be handled: its error page shows it again, so that nothing is lost.

Only declared fields are shown, and only at the form's own address. So a foreign page cannot make the site show a form
of its own invention.
"""

from dataclasses import dataclass

from django.http import HttpRequest

from retwis_site.features import features
from retwis_site.http.form_fields import FormField


@dataclass(frozen=True)
class KeptField:
    """A declared field and what was typed into it; empty for a password."""

    field: FormField
    value: str


def kept_fields(request: HttpRequest) -> list[KeptField]:
    """The declared fields of the request's form. No round trip."""
    form = request.resolver_match.url_name if request.resolver_match else None
    return [
        KeptField(field, "" if field.kind == "password" else request.POST.get(field.name, ""))
        for feature in features()
        for field in feature.form_fields.get(form or "", ())
        if field.name in request.POST
    ]
