"""The commands in the guides that need a whole machine, so no test can run them: what they name is there.

Each command of the guides is of one class: the site's own and Redis's (test_operating.py, test_upgrading.py,
test_customising.py and tests/deploy/test_store.py run them), files that are copied (copied here), or one that only a
machine has."""

import configparser
import re
import subprocess
import tomllib

import pytest
from django.conf import settings
from django.core.management import get_commands
from django.urls import resolve

from tests.support.deploy.machine import deployed
from tests.support.texts import guides

ROOT = settings.BASE_DIR
DEPLOY = ROOT / "deploy"
SOURCE = "/opt/retwis/source"
VENV = "/opt/retwis/venv/bin"
GUIDES = ("operating", "upgrading", "customising")

RUN_ELSEWHERE = {"retwis", "redis-cli", "redis-check-aof"}
BY_CUSTOMISING = {"mkdir", "touch", "export", "msgfmt"}
COPIES = "install"
# Programs that need a whole machine -> the Debian package that has them; empty: each Debian has it.
OF_A_MACHINE = {
    **dict.fromkeys(("adduser", "apt-get", "systemctl", "journalctl", "vmstat", "uptime", "df", "du"), ""),
    **dict.fromkeys(("alias", "cd", "chown", "cp", "ln", "mv", "rm"), ""),
    "python3": "python3-venv",
    f"{VENV}/pip": "python3-venv",
    **{name: name for name in ("certbot", "curl", "git", "logrotate", "nano", "nginx")},
}
VERBS = {"daemon-reload", "edit", "enable", "reload", "reset-failed", "restart", "start", "status", "stop"}
OF_DEBIAN = {"nginx", "redis-server"}


def commands(program):
    return [words for guide in GUIDES for words in map(guides.words, guides.commands(guide)) if words[0] == program]


def unit(name):
    """The section [Service] of a unit. Of a repeated key it has the last value."""
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str
    parsed.read(DEPLOY / f"{name}.service")
    return parsed["Service"]


@pytest.mark.parametrize("guide", GUIDES)
def test_each_command_is_of_a_class(guide):
    programs = {guides.words(command)[0] for command in guides.commands(guide)}
    assert programs - RUN_ELSEWHERE - BY_CUSTOMISING - {COPIES} - OF_A_MACHINE.keys() == set()


@pytest.mark.parametrize("guide", GUIDES)
def test_links_and_commands_inside_the_text_exist(guide):
    text = guides.text_of(guide)
    assert set(re.findall(r"`retwis (\w+)", text)) - get_commands().keys() == set()
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text):
        file = ROOT / "docs" / target if target else ROOT / f"docs/{guide}.md"
        assert file.exists(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE) if anchor else []
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, anchor


def test_packages_have_the_programs():
    [(_, _, *packages)] = [words for words in commands("apt-get") if words[1] == "install"]
    needed = {package for program, package in OF_A_MACHINE.items() if commands(program)} - {""}
    assert needed | {"redis-server", "cron"} == set(packages)


def test_units_are_ours_or_debians():
    known = OF_DEBIAN | {path.stem for path in DEPLOY.glob("*.service")}
    for _, verb, *units in commands("systemctl"):
        assert verb in VERBS
        assert {name for name in units if not name.startswith("--")} <= known
    for words in commands("journalctl"):
        assert not {words[place + 1] for place, word in enumerate(words) if word == "--unit"} - known


def test_systemd_waits_until_redis_has_loaded_its_data():
    """Redis tells it only then that it is ready: Debian's unit has `Type=notify`, and systemd waits 90 seconds."""
    said = [verb for _, verb, *units in commands("systemctl") if "redis-server" in units]
    assert said[:2] == ["edit", "restart"]
    assert "`[Service]`, and\n   below it `TimeoutStartSec=infinity`" in guides.text_of("operating")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A folder with what the guides install: /etc/retwis.env and so on. Groups are left out, and no program is run."""
    root = tmp_path_factory.mktemp("machine")
    for folder in ("etc/redis", "etc/systemd/system", "etc/nginx/sites-available", "usr/local/bin"):
        (root / folder).mkdir(parents=True)
    for words in commands(COPIES):
        command = re.sub(r" -[go] \w+", "", " ".join(words)).replace(f"{SOURCE}/", "").replace(" /", f" {root}/")
        subprocess.run(command.split(), cwd=ROOT, check=True)
    return root


def test_files_are_where_others_look_for_them(machine):
    for name in ("retwis-web", "retwis-deliver"):
        assert (machine / f"etc/systemd/system/{name}.service").exists()
        assert (machine / unit(name)["EnvironmentFile"].lstrip("/")).stat().st_mode & 0o777 == 0o640
    [users] = re.findall(r"^aclfile (.*)$", (machine / "etc/redis/redis.conf").read_text(), re.MULTILINE)
    assert (machine / users.lstrip("/")).exists()
    assert [words[2] for words in commands("ln")] == ["/etc/nginx/sites-available/retwis.conf"]
    assert (machine / "etc/nginx/sites-available/retwis.conf").exists()
    edited = {words[1] for words in commands("nano")}
    assert {path for path in edited if not (machine / path.lstrip("/")).exists()} == set()


def test_the_site_may_not_read_the_passwords_of_the_store(machine):
    """It is in the group `redis`, for the socket."""
    assert "redis" in unit("retwis-web")["SupplementaryGroups"].split()
    for name in ("redis.conf", "users.acl", "users.acl.old"):
        assert (machine / "etc/redis" / name).stat().st_mode & 0o777 == 0o600
    owners = [words[words.index("-o") + 1] for words in commands(COPIES) if words[-1].startswith("/etc/redis/")]
    assert owners == ["redis"] * 4


def test_the_command_retwis_is_the_user_and_has_the_settings_of_the_units(machine):
    script = (machine / "usr/local/bin/retwis").read_text()
    assert (machine / "usr/local/bin/retwis").stat().st_mode & 0o777 == 0o755
    for name in ("retwis-web", "retwis-deliver"):
        service = unit(name)
        user, group, more = (service[name] for name in ("User", "Group", "SupplementaryGroups"))
        own, redis = more.split()
        assert own == user  # it may read the file
        assert f"exec runuser -u {user} -g {group} -G {redis} -G {own} -- {VENV}/retwis" in script
        assert ["adduser", user, redis] in commands("adduser")  # for cron
        assert f"RETWIS_ENV_FILE:-{service['EnvironmentFile']}" in script
        assert service["Environment"] == f"RETWIS_ENV_FILE={service['EnvironmentFile']}"
        assert service["ExecStart"].startswith(f"{VENV}/")


def test_the_socket_and_the_addresses_are_those_of_the_unit():
    socket = re.search(r"--bind unix:(\S+)", unit("retwis-web")["ExecStart"])[1]
    asked = {" ".join(words) for words in commands("curl")}
    assert asked == {
        f"curl --fail --unix-socket {socket} http://retwis.example/readyz",
        "curl --fail http://127.0.0.1:8001/metrics",
    }
    assert resolve("/readyz")
    assert "METRICS_PORT=8001" in guides.text_of("operating")  # 9100 is that of Debian's prometheus-node-exporter
    assert "#METRICS_PORT=8001" in deployed("retwis.env.example")
    assert '"127.0.0.1:8001"' in deployed("prometheus/prometheus.yml")
    [redis] = re.findall(r"^unixsocket (.*)$", (DEPLOY / "redis.conf").read_text(), re.MULTILINE)
    assert commands("alias") == [["alias", f"redis-cli=redis-cli -s {redis}"]]


def test_what_is_rotated_and_removed_is_what_the_files_of_deploy_write():
    logs = re.findall(r"/var/log/(\w+)/", deployed("nginx.conf") + deployed("redis.conf"))
    rotated = [words[-1].removeprefix("/etc/logrotate.d/") for words in commands("logrotate")]
    assert [name.partition("-")[0] for name in rotated] == sorted(set(logs))
    [var] = re.findall(r"^VAR_DIR=(.*)$", deployed("retwis.env.example"), re.MULTILINE)
    assert ["rm", f"{var}/secret_key"] in commands("rm")
    [data] = re.findall(r"^dir (.*)$", deployed("redis.conf"), re.MULTILINE)
    assert {words[1] for words in commands("mv") if words[1].startswith("/var")} == {f"{data}/appendonlydir"}


def test_what_pip_installs_is_there():
    installed = [words[1:] for words in commands(f"{VENV}/pip")]
    locked, itself = ["install", "--require-hashes", "--requirement", f"{SOURCE}/requirements.lock"], installed[1]
    assert itself == ["install", "--no-deps", "--no-build-isolation", SOURCE]
    assert all(words in (locked, itself) for words in installed)
    lock = (ROOT / "requirements.lock").read_text()
    programs = {"gunicorn", *tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]}
    assert {name for name in programs if f"\n{re.split('[<>=]', name)[0]}==" not in lock} == set()


def test_each_alert_says_what_to_do():
    alerts = re.findall(r"alert: (\w+)", (DEPLOY / "prometheus/alerts.yml").read_text())
    rows = re.findall(r"^\| (`Retwis.*?) \|", guides.text_of("operating"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(alerts)


@pytest.mark.parametrize("guide", GUIDES)
def test_files_of_deploy_exist(guide):
    for name in re.findall(r"deploy/([\w./-]*\w)", guides.text_of(guide)):
        assert (DEPLOY / name).exists(), name
