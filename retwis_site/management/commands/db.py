"""`manage.py db backup DIR`, `manage.py db copy --from URL`: what operators do to the whole store.

Each verb is a command of its own too, under its older name: `manage.py backup DIR`.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from retwis_site.exceptions import NotDone
from retwis_site.maintenance import backups
from retwis_site.maintenance.examination import FOREIGN, Examination, examine_all, inconsistencies, orphans
from retwis_site.maintenance.filling import Copy, KindCounts, compared, connect_source, is_used
from retwis_site.maintenance.server_advice import require_no_lost_keys
from retwis_site.management.base import (
    NounCommand,
    StoreCommand,
    add_accept_loss,
    add_source,
    in_chunks,
    number,
    urls_of,
)
from retwis_site.rendering.dates import unix
from retwis_site.store import embedded, keys, schema
from retwis_site.store.client import Store, connect_exactly
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import StoreState, examine

EMBEDDED = "embedded"


class CopyingCommand(StoreCommand):
    """A command that fills the site's store with the site of another store."""

    def copy_site(self, source: Store, target: Store) -> None:
        """Copy, from the beginning to the commit. Raises CannotFill; CommandError when keys are missing."""
        copy, kinds = Copy(source, target), defaultdict[str, KindCounts](KindCounts)
        copy.begin()
        self.complete("Copying", copy, in_chunks(source.dbsize))
        self.complete("Comparing", compared(source, target, kinds), in_chunks(source.dbsize))
        for kind, counts in sorted(kinds.items()):
            self.say(f"{kind}: {counts.keys} keys, {counts.entries} entries; {counts.complete} keys arrived")
        if any(counts.complete < counts.keys for counts in kinds.values()):
            raise CommandError(
                "The copy is incomplete. Stop the site and every other program that writes, and run this again."
            )
        copy.finish()
        self.say(f"{sum(counts.keys for counts in kinds.values())} keys copied.")


class Backup(StoreCommand):
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
        with backups.unfinished(options["folder"]) as folder:
            manifest = self._download(store, folder)
            if options["verify"]:
                manifest = replace(manifest, errors=self._verify(folder, manifest))
            made = backups.complete(folder, manifest)
        size = sum(file.bytes for file in manifest.files)
        self.say(f"{made}: {manifest.users} users, {manifest.keys} keys, {size} bytes.")
        if manifest.errors:
            raise CommandError(
                f"{made} is complete, but the store has errors: {manifest.errors}. Run `manage.py doctor --fix`."
            )

    def _download(self, store: Store, folder: Path) -> backups.Manifest:
        about = backups.describe(store)
        if not about.users:
            raise NotDone("No user is registered in this store. Set REDIS_URL and REDIS_KEY_PREFIX to the site's.")
        snapshots = backups.Snapshots(store, folder)
        self.complete("Reading the snapshot", snapshots, snapshots.steps)
        return replace(about, files=snapshots.files)

    def _verify(self, folder: Path, manifest: backups.Manifest) -> int:
        """Print the errors in the backup; returns their number."""
        with backups.loaded_in_one_server([folder / file.name for file in manifest.files], manifest.database) as copy:
            census = self.count(copy)
            counted = f"A server has loaded the backup: {census.users} users, {census.posts} posts"
            if census.certain(examine(copy)) is StoreState.FOREIGN:  # it has not what the checks expect
                self.say(f"{counted}. The official Retwis has written them: `doctor` can check them after `adopt`.")
                return 0
            made_at = unix(manifest.made_at) or 0
            checks = inconsistencies(copy, lambda: made_at)
            errors = sum(map(self._told, self.examine(copy, checks, repairs=False)))
        self.say(f"{counted}. `doctor` finds {errors} errors in it.")
        return errors

    def _told(self, examination: Examination) -> int:
        """Print what a check has found; returns the number. A check that could not run counts as one."""
        for line in examination.told():
            self.say(line)
        return examination.left + bool(examination.refused)


class Restore(CopyingCommand):
    help = (
        "Fill the store with a backup. Refuses a store that has users. Stop the site first: its web processes and "
        "`deliver`. After a crash, run the command again: it starts from the beginning."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "backup",
            metavar="DIR",
            type=Path,
            help="a backup; or the folder of all backups, for the newest one; or an RDB file of any server",
        )
        parser.add_argument(
            "--database", type=number(0), default=0, help="the number of the database in an RDB file (default: 0)"
        )

    def run(self, store: Store, **options: Any) -> None:
        _refuse_used()
        backup: Path = options["backup"]
        try:
            folder = None if backup.is_file() else backups.newest(backup)
        except PermissionError as error:
            fix = "Let the user of this command read all of it (`chown -R`), or name another backup."
            raise NotDone(f"{error.filename} cannot be read: {error.strerror}. {fix}") from error
        if folder:
            self._restore_backup(folder)
        else:
            self._restore([backup], options["database"])

    def _restore_backup(self, folder: Path) -> None:
        manifest = backups.read_manifest(folder)
        _refuse_other_settings(manifest)
        size = sum(file.bytes for file in manifest.files)
        self.complete("Comparing checksums", backups.proof(folder, manifest), lambda: size // backups.CHUNK + 1)
        self.say(f"Restoring {folder}, {manifest.users} users.")
        self._restore([folder / file.name for file in manifest.files], manifest.database)
        if manifest.errors:
            self.say(f"The backup has errors: {manifest.errors}. Run `manage.py doctor --fix` now.")
        elif len(manifest.files) > 1:
            self.say("Its servers were not saved at the very same moment: run `manage.py doctor --fix` now.")

    def _restore(self, files: Sequence[Path], database: int) -> None:
        target = connect_exactly()
        with backups.loaded(files, database) as source:
            _refuse_unsuitable(source, files, database)
            self.copy_site(source, target)
        if examine(target) is StoreState.FOREIGN:
            self.say("The official Retwis has written this database. Next: `manage.py adopt`, docs/adopting.md.")


def _refuse_used() -> None:
    if is_used(connect_exactly()):
        fix = (
            "Name an empty one in REDIS_URL."
            if settings.REDIS_URL
            else f"Stop the site, and move {embedded.folder()} away."
        )
        raise NotDone(f"The store has users, and `restore` fills only an empty one. {fix}")


def _refuse_other_settings(manifest: backups.Manifest) -> None:
    if manifest.key_prefix != keys.PREFIX:
        raise NotDone(
            f"The backup was made with REDIS_KEY_PREFIX={manifest.key_prefix!r}, and now it is {keys.PREFIX!r}. Set "
            "it as it was."
        )
    if manifest.post_ids == "snowflake" and settings.POST_IDS != "snowflake":
        raise NotDone("The backup was made with POST_IDS=snowflake, which cannot be changed back. Set it.")


def _refuse_unsuitable(source: Store, files: Sequence[Path], database: int) -> None:
    holders = [server for server in source.servers() if server.hlen(keys.users())]
    if not holders:
        raise NotDone(
            f"{files[0]} has no users in database {database} with REDIS_KEY_PREFIX={keys.PREFIX!r}. Set the prefix "
            "and, for an RDB file, --database as they were, or take another file."
        )
    if any(
        server.get(keys.schema()) is not None and examine(server) is StoreState.NEWER for server in source.servers()
    ):
        raise NotDone("A newer version of the site made this backup. Install that version.")


class CopySite(CopyingCommand):
    help = (
        "Copy the whole site from another store into the store at REDIS_URL. Each of the two can be one server, a "
        "cluster or the embedded server. Stop the site first: its web processes and `deliver`. After a crash, run the "
        "command again: it starts from the beginning. Refuses a store that has users."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_source(
            parser,
            "where the site is now: the server or the current primary; some servers of a cluster; all servers behind a "
            "Twemproxy; `embedded`: the embedded server of VAR_DIR",
        )

    def run(self, store: Store, **options: Any) -> None:
        with _source(urls_of(options["source"])) as source:
            self.copy_site(source, connect_exactly())


@contextmanager
def _source(urls: Sequence[str]) -> Iterator[Store]:
    """The store that --from names, for the time of the block."""
    if not urls:
        raise CommandError("--from names no server: --from redis://host:6379, or --from embedded")
    if urls != [EMBEDDED]:
        yield connect_source(urls)
        return
    if not settings.REDIS_URL:
        raise CommandError("Source and target are both the embedded server. Set REDIS_URL to the store to copy into.")
    with embedded.running():
        yield connect_source([embedded.url()])


class Cleanup(StoreCommand):
    help = (
        "Remove orphans, which crashes leave behind: stale entries of auths, unreferenced user: and post: hashes, "
        "dead ids in home and global timelines, temporary keys without an expiry. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")
        add_accept_loss(parser)

    def run(self, store: Store, **options: Any) -> None:
        if not (options["dry_run"] or options["accept_loss"]):
            require_no_lost_keys(store)
        if examine_all(store) is StoreState.FOREIGN:
            self.say(FOREIGN)
            return
        total, refused = 0, False
        for examination in self.examine(store, orphans(store), repairs=not options["dry_run"]):
            label = examination.check.label
            total += examination.found
            removed = "none removed (dry run)" if options["dry_run"] else f"{examination.repaired} removed"
            self.say(f"{label}: {examination.found} found, {removed}")
            if examination.refused:  # the others go on: where the memory is full, they free some
                self.stderr.write(f"{label}: stopped, {examination.refused} Find out why with: manage.py doctor")
                refused = True
            if self.verbosity > 1:
                for example in examination.examples:
                    self.say(f"  {example}")
        if refused:
            sys.exit(1)
        if not total:
            self.say("Nothing to clean up.")


class Upgrade(StoreCommand):
    help = (
        "Do what this version of the site needs of a store that an older version has written, and note the new version "
        "in the key `schema`. Stop the site first. After a crash, run it again. A second run changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_accept_loss(parser)

    def run(self, store: Store, **options: Any) -> None:
        if not options["accept_loss"]:  # `schema` may be one of these keys: then the store looks like an older one
            require_no_lost_keys(store)
        state = examine_all(store)
        if state is StoreState.FOREIGN:
            raise CommandError(FOREIGN)
        if state in {StoreState.OLDER, StoreState.OURS}:
            self._repair(store)
        if state in {StoreState.OLDER, StoreState.EMPTY}:
            schema.mark(store)
        self.say(f"The store has schema {schema.VERSION}.")

    def _repair(self, store: Store) -> None:
        """Version 1 needs what older versions did not write: the index of names, the ranking. `doctor` finds it missing
        and makes it, so all of its repairs run. They run on a store of this version too: a commit between two releases
        may have noted the same number before a later one wrote more."""
        left = []
        for examination in self.examine(store, inconsistencies(store), repairs=True):
            label = examination.check.label
            if examination.repaired:
                self.say(f"{label}: {examination.repaired} repaired")
            if examination.left or examination.refused:
                left.append(f"{label} ({examination.refused})")
        Memory.clear_all()
        if left:
            raise CommandError(f"The upgrade is not finished: {'; '.join(left)}. Then run this again.")


class Command(NounCommand):
    help = "Back up, restore, copy, clean up or upgrade the store."
    verbs = {
        "backup": Backup,
        "restore": Restore,
        "copy": CopySite,
        "cleanup": Cleanup,
        "upgrade": Upgrade,
    }
