"""Usernames of an import. Here, two names that differ only in letter case are one name; elsewhere they may be two."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from accounts.users.checks.adoption import BEGINNING


@dataclass(frozen=True, slots=True)
class Person:
    """What is known of a person while the others are read."""

    uid: int
    username: str
    registered: int | None


@dataclass(frozen=True, slots=True)
class Renamed:
    """A person whose name someone else keeps."""

    uid: int
    before: str
    after: str


def renamed(people: Iterable[Person]) -> list[Renamed]:
    """Who needs another name, by ascending uid, and which.

    The person who registered first keeps the name; where no date is known, the one with the lowest uid. The others
    become `<name>_<uid>`, with the first BEGINNING characters of the name, as in an adopted database."""
    same: dict[str, list[Person]] = defaultdict(list)
    for person in people:
        same[person.username.lower()].append(person)
    taken = set(same)
    others = [person for group in same.values() for person in sorted(group, key=_priority)[1:]]
    found = []
    for person in sorted(others, key=lambda person: person.uid):
        name = _free_name(person, taken)
        taken.add(name.lower())
        found.append(Renamed(person.uid, person.username, name))
    return found


def _priority(person: Person) -> tuple[float, int]:
    return (inf if person.registered is None else person.registered, person.uid)


def _free_name(person: Person, taken: set[str]) -> str:
    """When someone has that name too, underscores follow it: a dry run tells what the import will do."""
    name = f"{person.username[:BEGINNING]}_{person.uid}"
    while name.lower() in taken:
        name += "_"
    return name
