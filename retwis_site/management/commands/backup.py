"""`manage.py backup`"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.backups.download import Download, describe
from retwis_site.maintenance.backups.folders import BackupError, Manifest, unfinished
from retwis_site.maintenance.backups.loading import loaded_in_one_server
from retwis_site.maintenance.examination import Examination, inconsistencies
from retwis_site.maintenance.filling import CannotFill
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store


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
            self.say("The backup is complete, and so are the errors in it. Run `manage.py doctor --fix` on the store.")
            sys.exit(1)

    def _download(self, store: Store, folder: Path) -> Manifest:
        about = describe(store)
        download = Download(store, folder)
        for _ in self.progress("Reading the snapshot", download):
            pass
        return replace(about, files=download.files)

    def _verify(self, folder: Path, manifest: Manifest) -> int:
        """Print the errors in the backup; returns their number."""
        errors = 0
        with loaded_in_one_server([folder / file.name for file in manifest.files], manifest.database) as copy:
            for check in inconsistencies(copy):
                examination = Examination(check, repairs=False)
                for _ in self.progress(check.label, examination):
                    pass
                errors += examination.left
                if examination.left:
                    self.say(f"error: {check.label}: {examination.left}")
        self.say(f"Verified: a server has loaded the backup, and `doctor` finds {errors} errors in it.")
        return errors
