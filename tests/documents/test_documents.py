"""The documentation agrees with the code: keys, settings, commands and the tables of docs/scaling.md."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import ManagementUtility, get_commands

from retwis_site.store import commands
from retwis_site.store.kinds import KINDS

ROOT = Path(settings.BASE_DIR)
RUNNING = (ROOT / "docs/running.md").read_text()


def table_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_key_table_of_the_code_is_in_the_documentation():
    """The difference that this test prints is what to write into docs/keys.md."""
    rows = [f"| `{kind.name}` | {kind.type} | {kind.text} | {kind.words} |" for kind in KINDS.values()]
    assert table_of((ROOT / "docs/keys.md").read_text())[2:] == rows


def test_every_setting_from_the_environment_is_documented():
    source = (ROOT / "retwis_site/settings.py").read_text()
    named = set(re.findall(r'\benv(?:_[a-z_]+)?\("([A-Z_]+)"', source))
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", RUNNING, re.MULTILINE))
    assert named == documented


def test_every_management_command_of_the_site_is_documented():
    own = {name for name, app in get_commands().items() if app in {"retwis_site", "accounts", "timeline"}}
    documented = set(re.findall(r"`manage.py (\w+)", "\n".join(table_of(RUNNING))))
    assert documented == own | {"check"}


def test_every_command_method_sends_the_command_with_its_name():
    class RecordedCommands(commands.Commands):
        def send(self, *command, **options):
            self.sent = command

    arguments = {"fields": {"f": "v"}, "members": {"m": 1}, "values": ["v"]}
    for name, method in vars(commands.Commands).items():
        if name.startswith("_") or name == "send":
            continue
        names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
        lists = {"hmget": {"fields": ["f"]}, "zmscore": {"members": ["m"]}}.get(name, {})
        recorded = RecordedCommands()
        method(recorded, *({**arguments, **lists}.get(argument, argument) for argument in names))
        assert recorded.sent[0] == name.split("_")[0].upper()
        assert recorded.sent[1] == "key"


COMMANDS = ["seed", "deliver", "cleanup", "doctor", "copy", "backup", "restore", "upgrade"]
COMMANDS += ["createuser", "changepassword", "serve", "runserver", "shell"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as answer:
        ManagementUtility(["manage.py", command, "--help"]).execute()
    assert f"usage: manage.py {command}" in answer.getvalue()
    if command == "seed":
        for option in ("--users", "--posts", "--follows", "--seed", "--flush", "--noinput"):
            assert option in answer.getvalue()
            assert option in RUNNING
