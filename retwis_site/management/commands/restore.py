"""`manage.py restore`"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.backups.folders import BackupError, Manifest, Proof, loaded, newest, read_manifest
from retwis_site.maintenance.filling import CannotFill, is_used
from retwis_site.maintenance.site_copy import Copy
from retwis_site.management.copying import CopyingCommand
from retwis_site.store import embedded, keys
from retwis_site.store.client import Store, connect_exactly
from retwis_site.store.schema import State, examine


class Command(CopyingCommand):
    help = (
        "Fill the store with a backup. Refuses a store that has users. Stop the site first: its web processes and "
        "`deliver`. After a crash, run the command again: it starts from the beginning."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "source",
            metavar="DIR",
            type=Path,
            help="a backup; or the folder of all backups, for the newest one; or an RDB file of any server",
        )
        parser.add_argument(
            "--database", type=int, default=0, help="the number of the database in an RDB file (default: 0)"
        )

    def run(self, store: Store, **options: Any) -> None:
        try:
            _refuse_used()
            source: Path = options["source"]
            if source.is_file():
                self._restore([source], options["database"])
            else:
                self._restore_backup(newest(source))
        except (BackupError, CannotFill) as error:
            raise CommandError(str(error)) from error

    def _restore_backup(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        _refuse_other_settings(manifest)
        for _ in self.progress("Comparing checksums", Proof(folder, manifest)):
            pass
        self.say(f"Restoring {folder}, {manifest.users} users.")
        self._restore([folder / file.name for file in manifest.files], manifest.database)
        if len(manifest.files) > 1:
            self.say("Its servers were not saved at the very same moment: run `manage.py doctor --fix` now.")

    def _restore(self, files: Sequence[Path], database: int) -> None:
        target = connect_exactly()
        with loaded(files, database) as source:
            _refuse_unsuitable(source, files, database)
            self.copy_site(Copy(source, target))
        if examine(target) is State.FOREIGN:
            self.say("The official Retwis has written this database. Next: `manage.py adopt`, docs/adopting.md.")


def _refuse_used() -> None:
    if is_used(connect_exactly()):
        fix = (
            "Name an empty one in REDIS_URL."
            if settings.REDIS_URL
            else f"Stop the site, and move {embedded.folder()} away."
        )
        raise BackupError(f"The store has users, and `restore` fills only an empty one. {fix}")


def _refuse_other_settings(manifest: Manifest) -> None:
    if manifest.key_prefix != keys.PREFIX:
        raise BackupError(
            f"The backup was made with REDIS_KEY_PREFIX={manifest.key_prefix!r}, and now it is {keys.PREFIX!r}. Set "
            "it as it was."
        )
    if manifest.post_ids == "snowflake" and settings.POST_IDS != "snowflake":
        raise BackupError("The backup was made with POST_IDS=snowflake, which cannot be changed back. Set it.")


def _refuse_unsuitable(source: Store, files: Sequence[Path], database: int) -> None:
    holders = [server for server in source.servers() if server.hlen(keys.users())]
    if not holders:
        raise BackupError(
            f"{files[0]} has no users in database {database} with REDIS_KEY_PREFIX={keys.PREFIX!r}. Set the prefix "
            "and, for an RDB file, --database as they were, or take another file."
        )
    if any(server.get(keys.schema()) is not None and examine(server) is State.NEWER for server in source.servers()):
        raise BackupError("A newer version of the site made this backup. Install that version.")
