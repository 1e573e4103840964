"""`manage.py backup`"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.backups.download import Download, describe
from retwis_site.maintenance.backups.folders import BackupError, Manifest, loaded_in_one_server, unfinished
from retwis_site.maintenance.census import Census
from retwis_site.maintenance.examination import Examination, inconsistencies
from retwis_site.maintenance.filling import CannotFill
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.store.schema import State, examine


class Command(StoreCommand):
    help = (
        "Write a backup of the whole store into a new folder in DIR, while the site runs. The folder holds everyone's "
        "sessions and password hashes: only you can read it. `restore` brings it back: docs/backup.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="where the folders of the backups are")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="start a temporary server on the backup and run the checks of `doctor` in it; exit code 1 with errors",
        )

    def run(self, store: Store, **options: Any) -> None:
        try:
            with unfinished(options["folder"]) as folder:
                manifest = self._download(store, folder.path)
                if options["verify"]:
                    manifest = replace(manifest, errors=self._verify(folder.path, manifest))
                complete = folder.complete(manifest)
        except (BackupError, CannotFill) as error:
            raise CommandError(str(error)) from error
        size = sum(file.bytes for file in manifest.files)
        self.say(f"{complete}: {manifest.users} users, {manifest.keys} keys, {size} bytes.")
        if manifest.errors:
            raise CommandError(
                f"{complete} is complete, but the store has errors: {manifest.errors}. Run `manage.py doctor --fix`."
            )

    def _download(self, store: Store, folder: Path) -> Manifest:
        about = describe(store)
        if not about.users:
            raise BackupError("No user is registered in this store. Set REDIS_URL and REDIS_KEY_PREFIX to the site's.")
        download = Download(store, folder)
        for _ in self.progress("Reading the snapshot", download):
            pass
        return replace(about, files=download.files)

    def _verify(self, folder: Path, manifest: Manifest) -> int:
        """Print the errors in the backup; returns their number."""
        with loaded_in_one_server([folder / file.name for file in manifest.files], manifest.database) as copy:
            census = Census(copy)
            for _ in self.progress("counts", census):
                pass
            counted = f"A server has loaded the backup: {census.users} users, {census.posts} posts"
            if census.certain(examine(copy)) is State.FOREIGN:  # it has not what the checks expect
                self.say(f"{counted}. The official Retwis has written them: `doctor` can check them after `adopt`.")
                return 0
            errors = sum(map(self._told, self.examine(copy, inconsistencies(copy), repairs=False)))
        self.say(f"{counted}. `doctor` finds {errors} errors in it.")
        return errors

    def _told(self, examination: Examination) -> int:
        """Print what a check has found; returns the number. A check that could not run counts as one."""
        errors = examination.left + bool(examination.refused)
        if errors:
            self.say(f"error: {examination.check.label}: {errors}")
        return errors
