"""Usernames and post ids in URLs."""

from urllib.parse import quote

from django.urls.converters import IntConverter
from django.utils.http import RFC3986_SUBDELIMS

from retwis_site.store.ids import parse_id


class UsernameConverter:
    """Any name that a database may have. A slash would end the path's segment, so it is written as %2F, and a percent
    sign as %25. Other names are unchanged."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return value.replace("%2F", "/").replace("%25", "%")

    def to_url(self, value: str) -> str:
        return value.replace("%", "%25").replace("/", "%2F")


def in_path(username: str) -> str:
    """The username as `reverse` writes it into a path."""
    return quote(UsernameConverter().to_url(username), safe=f"{RFC3986_SUBDELIMS}~:@")


class IdConverter(IntConverter):
    """A post id. A number that cannot be an id gives a 404."""

    def to_python(self, value: str) -> int:
        number = parse_id(value)
        if number is None:
            raise ValueError(value)
        return number
