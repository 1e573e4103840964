"""`manage.py post 17 --delete`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.management.people import checked_reason
from accounts.users.entities import OPERATOR
from retwis_site.management.base import StoreCommand
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id, stored_time
from timeline.posts.entities import NoSuchPost, PostDeleted
from timeline.posts.repository import delete_by_staff


class Command(StoreCommand):
    help = "Print a post, or delete it. The deletion is in the log of staff."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id")
        parser.add_argument("--delete", action="store_true", help="delete the post for good")
        parser.add_argument("--reason", default="", help="for the log")

    def run(self, store: Store, **options: Any) -> None:
        pid = parse_id(options["id"])
        if pid is None:
            raise CommandError(f"{options['id']!r} is no id of a post.")
        reason = checked_reason(options["reason"]) if options["reason"] else ""
        if not options["delete"]:
            self._print(store, pid)
            return
        try:
            delete_by_staff(store, pid, OPERATOR, reason)
        except NoSuchPost as error:
            raise CommandError(f"There is no post {pid}.") from error
        except PostDeleted as error:
            raise CommandError(f"Post {pid} is deleted already.") from error
        self.say(f"Post {pid} is deleted.")

    def _print(self, store: Store, pid: int) -> None:
        author, when, body, deleted = store.hmget(keys.post(pid), ["user_id", "time", "body", "deleted"])
        if author is None:
            raise CommandError(f"There is no post {pid}.")
        uid = parse_id(author)
        name = store.hget(keys.user(uid), "username") if uid is not None else None
        self.say(f"author: {name} (user {author})" if name else f"author: user {author}")
        self.say(f"time: {iso(stored_time(keys.post(pid), when))}")
        self.say("deleted" if deleted is not None else f"text: {body or ''}")
