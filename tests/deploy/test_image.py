"""The image and compose.yaml: a linter and the format of Compose find nothing, and what they run exists."""

import fnmatch
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import redis
from compose_spec import PyOptions

from tests.support.deploy.machine import ADMIN_PASSWORD, ROOT, Machine, deployed
from tests.support.processes.processes import free_port, wait_until

DOCKERFILE = deployed("Dockerfile").replace("\\\n", "")
LET_THROUGH = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
HEALTHCHECK, SERVE = re.findall(r"CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)


@pytest.fixture(scope="module")
def services():
    """The services of compose.yaml, as Compose reads them."""
    return PyOptions(apply_merge=True).from_yaml(deployed("compose.yaml")).to_dict()["services"]


def command_of(words, port):
    """A command of the Dockerfile, for another port and with the Python that runs the tests."""
    program, *arguments = json.loads(words.replace("8000", str(port)))
    return [sys.executable if program == "python" else program, *arguments]


def test_the_linter_finds_nothing():
    hadolint = Path(sys.executable).with_name("hadolint")
    answer = subprocess.run([hadolint, ROOT / "deploy/Dockerfile"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


def test_the_build_gets_all_that_the_wheel_has_and_no_secrets():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *wheel["packages"],
        *wheel["force-include"],
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "requirements.lock",
    }
    assert needed == set(LET_THROUGH)
    assert not any(fnmatch.fnmatch(name, "*.env") for name in LET_THROUGH)


def test_the_site_is_built_of_what_the_build_gets(tmp_path):
    """Without a network and Docker: what the first stage installs of the checkout serves its static files."""
    context, installed = tmp_path / "src", tmp_path / "installed"
    for name in LET_THROUGH:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, context / name)
    [options] = re.findall(r"pip install (--no-cache-dir .*) \.", DOCKERFILE)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", installed, *options.split(), context]
    subprocess.run(pip, check=True, capture_output=True)
    static = tmp_path / "static"
    env = {**Machine().environment(), "PYTHONPATH": str(installed), "STATIC_DIR": str(static)}
    command = [sys.executable, "-m", "django", "collectstatic", "--noinput", "--settings=retwis_site.settings"]
    subprocess.run(command, env=env, cwd=tmp_path, check=True, capture_output=True)
    assert list(static.glob("retwis.*.css.gz"))


def test_the_image_runs_as_a_user_without_rights():
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["10001"]
    assert "--chown" not in last  # it cannot change its own code


def test_the_health_check_follows_what_the_image_runs():
    """With HTTPS and a public host name, as in retwis.env.example."""
    machine, port = Machine(), free_port()
    machine.path("var/lib/retwis/static").mkdir()  # the image has the collected files
    with machine.path("etc/retwis.env").open("a") as variables:
        variables.write("LOG_FORMAT=json\n")
    check, serve = (command_of(part, port) for part in (HEALTHCHECK, SERVE))

    def is_healthy():
        return subprocess.run(check, capture_output=True, check=False).returncode == 0

    assert not is_healthy()
    with machine.running(machine.command(shlex.join(serve)), "web"):
        wait_until(is_healthy, "a healthy container")
    assert not is_healthy()
    # gunicorn's own lines too.
    assert {"gunicorn.error", "retwis.access"} <= {
        json.loads(line)["logger"] for line in machine.printed("web").splitlines()
    }


def test_no_service_can_write_to_itself_or_gain_rights(services):
    assert set(services) == {"web", "deliver", "redis"}
    for service in services.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["restart"] == "unless-stopped"


def test_only_this_machine_reaches_the_web_processes_and_nobody_the_store(services):
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "web": ["127.0.0.1:8000:8000"]
    }


def test_the_files_that_services_read_exist(services):
    mounted = [volume.split(":")[0] for service in services.values() for volume in service["volumes"]]
    files = [path for path in mounted if path.startswith("./")]
    assert files
    assert [path for path in files if not (ROOT / "deploy" / path).exists()] == []


def test_the_store_starts_with_the_command_of_its_service(services):
    """It listens on a port and writes into /data: here another port, and a folder of this machine."""
    machine, port = Machine(), free_port()
    machine.prepare_store()
    machine.path("data").mkdir()
    words = [word.replace("6379", str(port)) for word in services["redis"]["command"]]
    command = [re.sub(r"^/(etc|data)", rf"{machine.folder}/\1", word) for word in words]
    with (
        machine.running(["redis-server", *command[1:]], "redis"),
        redis.Redis(port=port, username="default", password=ADMIN_PASSWORD) as administrator,
    ):
        wait_until(administrator.ping, "the store")
        assert machine.path("data/appendonlydir").is_dir()
        assert "Ready to accept connections" in machine.printed("redis")
