"""`make audit` fails for a known vulnerability, and says so when nothing could be looked up."""

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings

SCRIPT = settings.BASE_DIR / ".ci/audit.py"
SOUND = {"name": "sound", "version": "1.0", "vulns": []}
SKIPPED = {"name": "skipped", "skip_reason": "Dependency not found on PyPI and could not be audited"}
WEAK = {"name": "weak", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]}


def audit(tmp_path, printed, failure=""):
    """The exit code and the output, with a pip-audit that prints this."""
    (tmp_path / "pip_audit.py").write_text(f"import sys\nprint({printed!r})\nprint({failure!r}, file=sys.stderr)")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, str(SCRIPT)], env=env, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return run.returncode, run.stdout


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([SOUND], 0, "Known vulnerabilities: 0, in 1 of 1 packages.\n"),
        ([SOUND, SKIPPED], 0, "Known vulnerabilities: 0, in 1 of 2 packages.\n"),
        ([SOUND, WEAK], 1, "weak 1.0: PYSEC-1, fixed in 1.1\nKnown vulnerabilities: 1, in 2 of 2 packages.\n"),
    ],
)
def test_only_a_known_vulnerability_fails(tmp_path, packages, code, said):
    assert audit(tmp_path, json.dumps({"dependencies": packages, "fixes": []})) == (code, said)


def test_packages_that_could_not_be_looked_up_are_not_called_sound(tmp_path):
    code, said = audit(tmp_path, json.dumps({"dependencies": [SKIPPED]}))
    assert code == 0
    assert said.startswith("The scan for known vulnerabilities could not run: PyPI's service answered for no package")


def test_without_a_network_it_says_that_it_could_not_run(tmp_path):
    code, said = audit(tmp_path, "", "first line\nConnectionError: no route to pypi.org")
    assert code == 0
    assert said == "The scan for known vulnerabilities could not run: ConnectionError: no route to pypi.org\n"
