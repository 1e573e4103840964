"""The documentation agrees with the code: keys, settings, commands and the tables of docs/scaling.md."""

import contextlib
import io
import re
from dataclasses import fields

import pytest
from django.conf import settings
from django.core.management import ManagementUtility, get_commands, load_command_class

from retwis_site.environment import SETTINGS
from retwis_site.features import Feature
from retwis_site.store import commands
from retwis_site.store.kinds import KINDS

ROOT = settings.BASE_DIR
RUNNING = (ROOT / "docs/running.md").read_text()
FORMER = {name: ("db", name) for name in ("backup", "restore", "copy", "cleanup", "upgrade")}
FORMER |= {name: ("user", name) for name in ("resetlink", "role", "sanction", "unthrottle")}
FORMER |= {"createuser": ("user", "create"), "changepassword": ("user", "password")}


def table_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_key_table_of_the_code_is_in_the_documentation():
    """The difference that this test prints is what to write into docs/keys.md."""
    rows = [f"| `{kind.name}` | {kind.type} | {kind.text} | {kind.words} |" for kind in KINDS.values()]
    assert table_of((ROOT / "docs/keys.md").read_text())[2:] == rows


def test_every_setting_from_the_environment_is_documented():
    documented = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", RUNNING, re.MULTILINE))
    assert documented.keys() == {name for name in SETTINGS if not name.startswith("THROTTLE_")}
    words = {"0": {"off", "`0`"}, "1": {"on", "`1`"}, "": {"none"}}
    depends = {"SITE_ADDRESS", "INSPECT", "BOOK", "OUTBOX_SHARDS", "VAR_DIR", "STATIC_DIR", "SECRET_KEY"}
    depends |= {"REDIS_URL", "ALLOWED_HOSTS"}
    for name in documented.keys() - depends:
        default = SETTINGS[name]
        assert documented[name] in words.get(default, {f"`{default}`"}), name


def test_every_management_command_of_the_site_is_documented():
    apps = {name: app for name, app in get_commands().items() if app in {"retwis_site", "accounts", "timeline"}}
    loaded = {name: load_command_class(app, name) for name, app in apps.items()}
    own = {name for name, command in loaded.items() if type(command).__module__.endswith(f".{name}")}
    documented = set(re.findall(r"`manage.py (\w+)", "\n".join(table_of(RUNNING))))
    assert documented == own | {"check"}
    verbs = {f"{noun} {verb}" for noun in own for verb in getattr(loaded[noun], "verbs", ())}
    assert {f"{noun} {verb}" for noun, verb in re.findall(r"^\| `manage.py (user|db) (\w+)", RUNNING, re.M)} == verbs


def test_all_that_a_feature_may_declare_is_documented():
    declared = table_of((ROOT / "docs/architecture.md").read_text().partition("## A request")[0])[2:]
    assert sorted(re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in declared))) == sorted(
        part.name for part in fields(Feature)
    )


def test_every_former_name_of_a_command_is_documented_once():
    assert [name for name in FORMER if f"`{name}`" not in RUNNING] == []


@pytest.mark.parametrize("former", FORMER)
def test_a_former_name_is_the_same_command(former):
    noun, verb = FORMER[former]
    commands = get_commands()
    now = load_command_class(commands[noun], noun).verbs[verb]
    assert type(load_command_class(commands[former], former)) is now


def test_only_the_commands_with_a_former_name_and_the_changelog_say_it():
    """One word for one thing: a message that names a command has the name that docs/running.md explains."""
    named = re.compile(rf"(?:manage\.py|retwis) (?:{'|'.join(FORMER)})\b")
    texts = [
        path
        for folder in ("accounts", "retwis_site", "timeline", "docs", "deploy", "templates")
        for path in (ROOT / folder).rglob("*.*")
    ]
    read = [path for path in texts if path.suffix in {".py", ".md", ".html", ".service", ".timer", ".sh", ".yaml"}]
    assert {path.stem for path in read if named.search(path.read_text())} <= {*FORMER, "db"}


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
COMMANDS += ["createuser", "changepassword", "serve", "runserver", "shell", "user create", "db backup"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as answer:
        ManagementUtility(["manage.py", *command.split(), "--help"]).execute()
    assert f"usage: manage.py {command}" in answer.getvalue()
    if command == "seed":
        for option in ("--users", "--posts", "--follows", "--seed", "--flush", "--noinput"):
            assert option in answer.getvalue()
            assert option in RUNNING
