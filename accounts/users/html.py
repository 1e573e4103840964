"""A user as HTML: the picture, the name, and the username in addresses."""

from functools import lru_cache
from typing import Any

from accounts.users.avatars import avatar
from accounts.users.entities import User
from retwis_site.http.url_converters import in_path
from retwis_site.rendering.fragments import Fragment, Html, escaped

NAME = Fragment("accounts/users/_name.html")


def name_of(person: User, language: str) -> Html:
    """The display name with the username, or the username alone."""
    return NAME.fill(language, has_name=bool(person.name), name=person.name, username=person.username)


def person(user: User, language: str) -> dict[str, Any]:
    """The slots of a person: the picture, the username in addresses, and the name."""
    return {"avatar": avatar(user.uid, user.shown_name), "at": at(user.username), "name": name_of(user, language)}


@lru_cache(maxsize=5000)
def at(username: str) -> Html:
    """The username as a part of an address, for `{% url 'profile' at %}` in a fragment."""
    return escaped(in_path(username))
