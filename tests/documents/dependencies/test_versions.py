"""docs/running.md names the versions on which CI runs the suite."""

import importlib.util
import re

from django.conf import settings

ROOT = settings.BASE_DIR
RUNNING = (ROOT / "docs/running.md").read_text()
VERSIONS = RUNNING.partition("\n## Versions\n")[2].partition("\n## ")[0]


def other_servers():
    """The names of the servers that .ci/servers.py fetches, such as `redis-6.2`."""
    spec = importlib.util.spec_from_file_location("servers", ROOT / ".ci/servers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return set(module.SERVERS)


def test_every_server_of_ci_is_named():
    [row] = [line for line in VERSIONS.splitlines() if line.endswith("`make test-servers` |")]
    named = {f"{family.lower()}-{version}" for family, version in re.findall(r"(Redis|Valkey) ([0-9]+\.[0-9]+)", row)}
    assert named == other_servers()


def test_the_versions_of_python_and_django_are_those_of_ci():
    newest = re.search(r"^NEWEST := python(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    lock = (ROOT / "requirements.lock").read_text()
    oldest_django, newest_django = re.findall(r"^django==([0-9]+\.[0-9]+)", lock, re.MULTILINE)
    assert f"| Python 3.11, Django {oldest_django} |" in VERSIONS
    assert f"| Python {newest}, Django {newest_django} |" in VERSIONS


def commands_of(script):
    """What the steps of a script run."""
    return set(re.findall(r'^step "[^"]+" (.*)$', (ROOT / ".ci" / script).read_text(), re.MULTILINE))


def test_ci_runs_the_oldest_and_the_newest_and_the_nightly_run_all():
    assert {"lint", "test", "test-topologies", "sbom", "audit"} <= set(" ".join(commands_of("run")).split())
    assert {"make test-servers", "make test-cluster", "make test-python EXAMPLES=all"} <= commands_of("nightly")
    [some] = [command for command in commands_of("run") if command.startswith("make test-servers")]
    by_age = sorted(name for name in other_servers() if name.startswith("redis"))
    assert f'SERVERS="{by_age[0]} {by_age[-1]}"' in some
