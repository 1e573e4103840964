"""A user as HTML: the picture, the name, and the username in addresses."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from accounts.users.avatars import avatar
from accounts.users.entities import User
from accounts.users.names import isolated
from retwis_site.http.url_converters import in_path
from retwis_site.rendering.fragments import Fragment, Html, escaped

NAME = Fragment("accounts/users/_name.html")


@lru_cache(maxsize=5000)
def name_of(person: User, language: str) -> Html:
    """The display name with the username, or the username alone."""
    return NAME.fill(language, has_name=bool(person.name), name=person.name, username=person.username)


def person(user: User, language: str) -> dict[str, Any]:
    """The slots of a person: the picture, the username in addresses, and the name."""
    return {"avatar": avatar(user.uid, user.shown_name), "at": at(user.username), "name": name_of(user, language)}


def titled(user: User) -> dict[str, Any]:
    """The slots of a page about a user: the name in its title, and in its headings."""
    return {"title_name": isolated(user), "shown_name": user.shown_name}


def first_two(people: Sequence[User]) -> dict[str, Any]:
    """The slots of a sentence that names one or two people: their names, and their usernames in addresses."""
    first, second = (*people, None, None)[:2]
    return {
        "first": first.shown_name if first else "",
        "first_at": at(first.username) if first else "",
        "second": second.shown_name if second else "",
        "second_at": at(second.username) if second else "",
    }


@lru_cache(maxsize=5000)
def at(username: str) -> Html:
    """The username as a part of an address, for `{% url 'profile' at %}` in a fragment."""
    return escaped(in_path(username))
