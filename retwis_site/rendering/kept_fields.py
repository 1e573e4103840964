"""The text of a form that failed. Its error page shows the text again, so that nothing is lost.

Only declared fields are shown, and only at the form's own address. So another site cannot make this site show a form
that the other site invented.
"""

from dataclasses import dataclass

from django.http import HttpRequest, QueryDict
from django.urls import Resolver404, resolve

from retwis_site.features import features
from retwis_site.http.form_fields import FormField


@dataclass(frozen=True)
class KeptField:
    """A declared field and its text; the text of a password is empty."""

    field: FormField
    value: str


def kept_fields(request: HttpRequest) -> list[KeptField]:
    """The declared fields that the request has, in the order of declaration. No round trip."""
    return kept_of(request, request.POST)


def kept_of(request: HttpRequest, typed: QueryDict) -> list[KeptField]:
    """The declared fields of what was typed into the form at the request's address, in the order of declaration."""
    return [
        KeptField(
            field, "" if field.kind == "password" else typed.get(field.name, "").rstrip("\N{REPLACEMENT CHARACTER}")
        )
        for feature in features()
        for field in feature.form_fields.get(_name_of(request), ())
        if field.name in typed
    ]


def _name_of(request: HttpRequest) -> str:
    """The name of the form's address; a form that is refused at once has not been resolved yet."""
    try:
        found = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return ""
    return found.url_name or ""
