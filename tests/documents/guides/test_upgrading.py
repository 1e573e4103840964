"""docs/upgrading.md: its commands run in their order on a site of an older version, and its table has all versions."""

import re
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from retwis_site import command_line, version
from retwis_site.management.commands import serve
from retwis_site.store import schema
from tests.support.maintenance.copied_sites import keys_to_copy
from tests.support.maintenance.healthy_site import make_healthy_site
from tests.support.texts import guides

GUIDE = "upgrading"
BACKUPS = "/var/backups/retwis"
EMPTIES = "mv /var/lib/redis/appendonlydir"  # a server without its append-only file is empty
RUN = ["doctor", "backup", "--version", "check", "upgrade", "restore"]


def quotes():
    """The messages that the guide quotes, each in one line."""
    found = re.findall(r"(?:^> .*\n)+", guides.text_of(GUIDE), re.MULTILINE)
    return [re.sub(r"\s+", " ", text.replace("> ", "")).strip() for text in found]


def test_the_table_has_every_version_of_the_changelog():
    rows = re.findall(r"^\| ([\w.]+) \| (\w+) \|", guides.text_of(GUIDE), re.MULTILINE)
    changelog = (settings.BASE_DIR / "CHANGELOG.md").read_text()
    assert [version for version, _ in rows if version != "version"] == re.findall(r"^## \[(.*?)\]", changelog, re.M)
    assert dict(rows)["Unreleased"] == str(schema.VERSION)


@pytest.mark.real_server
@pytest.mark.one_server
def test_the_commands_run_in_their_order(raw, store, alice, bob, carol, rights, tmp_path, monkeypatch, capsys):
    make_healthy_site(raw, store, alice, bob, carol)
    raw.delete("celery")  # of another program
    raw.config_set("repl-diskless-sync-delay", 0)
    raw.delete("schema", "users_by_followers")  # as an older version has left it
    rights("+sync", "+replconf")
    run, folder = [], tmp_path / "before"
    for command in guides.commands(GUIDE):
        program, *arguments = guides.words(command.replace(BACKUPS, str(folder)))
        if command.startswith(EMPTIES):
            before = keys_to_copy(raw)
            folder = tmp_path / "then"  # two backups of one second have the same name
            call_command("backup", folder)
            raw.flushall()
        if program != "retwis":
            continue
        run.append(arguments[arguments[0] == "db"])
        if run[-1] == "--version":
            monkeypatch.setattr(sys, "argv", ["retwis", "--version"])
            command_line.main()
            assert f"Retwis {version.of_site()}\n" in capsys.readouterr().out
            continue
        try:
            call_command(*arguments)
        except (CommandError, SystemExit):
            assert run[-1] in {"doctor", "backup"}  # they say what is missing
        if run[-1] == "upgrade":
            assert raw.get("schema") == str(schema.VERSION)
            assert raw.zscore("users_by_followers", "1") == 2
    assert run == RUN
    assert keys_to_copy(raw) == before


def test_a_new_version_comes_also_after_the_way_back_to_an_old_one(tmp_path):
    ours, source = tmp_path / "ours", tmp_path / "source"

    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)  # noqa: S607

    def publish(name):
        author = ("-c", "user.name=alice", "-c", "user.email=alice@retwis.example")
        git("-C", ours, *author, "commit", "--quiet", "--allow-empty", "--message", name)
        git("-C", ours, "tag", name)

    git("init", "--quiet", "--initial-branch", "main", ours)
    publish("old")
    git("clone", "--quiet", ours, source)
    for name in ("new", "newest"):
        publish(name)
        words = [guides.words(command) for command in guides.commands(GUIDE)]
        gets = [arguments for program, *arguments in words if program == "git"]
        places = {"/opt/retwis/source": str(source), "OLD-VERSION": "old"}
        for arguments in gets:
            git(*(places.get(word, word) for word in arguments))
    git("-C", source, "merge-base", "--is-ancestor", "newest", "main")


@pytest.mark.usefixtures("raw")
def test_an_older_site_on_a_newer_store_says_so(raw, store):
    raw.set("schema", schema.VERSION + 1)
    with pytest.raises(schema.NewerSchema) as refused:
        schema.Gate(store).pass_(["GET"])
    assert quotes() == [serve.NEEDS[schema.StoreState.OLDER], str(refused.value)]
