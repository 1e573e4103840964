"""`manage.py import_account FILE`"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.facts.facts import LONGEST_LABEL, LONGEST_VALUE, MOST_FACTS, Fact, stored
from accounts.management.people import new_password
from accounts.signing_in.forms import valid_username
from accounts.users.accounts import Registration
from accounts.users.entities import NameTaken, User
from accounts.users.names import LONGEST_BIO, LONGEST_DISPLAY_NAME, NameIndex, as_display_name, in_one_line
from accounts.users.repository import Users, ask_owners
from retwis_site.features import Line
from retwis_site.maintenance.site_files import opened, unpacked
from retwis_site.management.base import StoreCommand
from retwis_site.rendering.dates import unix
from retwis_site.store import keys
from retwis_site.store.client import Store, answer
from retwis_site.store.kinds import COLOURS, POST
from timeline.account_data.download import Download, read
from timeline.account_data.restoring import (
    RestoredPictures,
    RestoredRelations,
    Restoring,
    only_run,
    require_account,
    restored,
)
from timeline.relations.relations import Follows


class Command(StoreCommand):
    help = (
        "Bring back a personal download: the posts, the profile, pictures, follows, likes and more. The account "
        "is made; its password is read from a prompt, or as one line from standard input. The site may be in use. To "
        "repeat a killed run: --into-existing"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="such as retwis-alice-2026-11-20.jsonl; it may be compressed")
        parser.add_argument("--into-existing", action="store_true", help="add to the account with this username")

    def run(self, store: Store, **options: Any) -> None:
        try:
            with unpacked(opened(Path(options["file"]))) as file:
                download = read(file)
                user = self._existing(store, download) if options["into_existing"] else self._new(store, download)
                with only_run(store, user.uid) as renew:
                    self._import(store, user, download, renew)
        except OSError as error:
            raise CommandError(f"The file could not be read: {error}") from error

    def _existing(self, store: Store, download: Download) -> User:
        name = download.account["username"]
        user = _owner(store, name)
        if user is None:
            raise CommandError(f"No user has the name {name!r}. Without --into-existing the account is made.")
        return user

    def _new(self, store: Store, download: Download) -> User:
        name = download.account["username"]
        try:
            if _owner(store, name) is not None:
                raise NameTaken
            valid_username(name)
            return Registration(store).register(name, make_password(new_password(name)))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except NameTaken as error:
            raise CommandError(f"The name {name!r} is taken. To add to that account: --into-existing") from error

    def _import(self, store: Store, user: User, download: Download, renew: Callable[[], object]) -> None:
        lines = download.lines
        _complete_profile(store, user, download.account, _facts(lines["fact"]))
        relations = RestoredRelations(store, user.uid)
        unknown = _follow(store, user, [line["username"] for line in lines["following"]])
        hidden = relations.to_people(lines)
        relations.to_words(lines)
        restoring = Restoring(store, user.uid, renew)
        restoring.begin()
        pictures = RestoredPictures(store, user.uid, download.picture)
        pictures.to_profile(download.account)
        chunks = self.progress("Importing", download, download.steps)
        written = sum(restoring.write(posts, pictures.of_post) for posts in chunks)
        restoring.finish()
        conversation = restoring.conversation
        tags = relations.to_tags(lines)
        missing = relations.to_posts(lines, conversation)
        for pin in lines["pin"][-1:]:
            relations.pin(conversation.own.get(pin["id"]))
        require_account(store, user.uid)
        self.say(f"User {user.username} has {written} posts more.")
        kinds = ", ".join(one.kind for one in restored() if one.leads_to == POST)
        left_out = {
            "followed users do not exist here.": unknown,
            "blocked or muted users do not exist here.": hidden,
            "replies are plain posts now: what they reply to is not here.": conversation.plain_replies,
            "posts quote nothing any more: what they quote is not here.": conversation.plain_quotes,
            f"lines ({kinds}) are of posts that are not here.": missing,
            "followed tags are used by nobody here.": tags,
            **pictures.left_out,
            **{f"{reason} were left out.": number for reason, number in download.left_out.items()},
        }
        for sentence, number in left_out.items():
            if number:
                self.say(f"{number} {sentence}")


def _owner(store: Store, name: str) -> User | None:
    """The user with this name; None when it is free. Raises CommandError for the name of a deleted or suspended
    account. At most two round trips."""
    uid = Users(store).find(name)
    if uid is None:
        return None
    user = Users(store).people([uid]).get(uid)
    if user is None:
        unseen = f"The account {name!r} is deleted or suspended; its name stays taken."
        raise CommandError(f"{unseen} Change `username` in the file.")
    return user


def _complete_profile(store: Store, user: User, account: Line, facts: Sequence[Fact]) -> None:
    """Set the display name, the bio, the facts, the language, the colour and what is said of pictures where the account
    has none."""
    name = user.name or as_display_name(account["name"][:LONGEST_DISPLAY_NAME])
    fields = ["bio", "language", "needs_alt", "facts"]
    bio, language, needs_alt, own_facts = store.hmget(keys.user(user.uid), fields)
    new_facts = stored(facts) if facts and not own_facts else None
    if not user.name or not bio or new_facts:
        NameIndex(store).edit(user, name, bio or in_one_line(account["bio"][:LONGEST_BIO]), new_facts)
    if not language and account["language"] in dict(settings.LANGUAGES):
        Users(store).choose(user.uid, "language", account["language"])
    if not user.colour and account.get("colour") in COLOURS:
        Users(store).choose(user.uid, "colour", account["colour"])
    if not needs_alt and (since := unix(account.get("needs_alt", ""))) is not None:
        Users(store).choose(user.uid, "needs_alt", str(since))


def _facts(lines: Sequence[Line]) -> list[Fact]:
    """The facts of a file, which its owner may have changed, as the form of the profile takes them."""
    typed = [(in_one_line(one["label"][:LONGEST_LABEL]), in_one_line(one["value"][:LONGEST_VALUE])) for one in lines]
    return [Fact(label, value) for label, value in typed if label and value][:MOST_FACTS]


def _follow(store: Store, user: User, names: Sequence[str]) -> int:
    """Follow the users with these names. The newest follow stands first, and is written last: so it is the newest here,
    too. Returns how many names no user has. Two round trips, and those of `Follows.follow`."""
    owners = answer(store, ask_owners, names)
    people = Users(store).people(owners.values())
    for uid in reversed(owners.values()):
        if uid in people and uid != user.uid:
            Follows(store).follow(user.uid, uid)
    return sum(owners.get(name) not in people for name in names)
