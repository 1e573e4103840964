"""Looks up the locked packages among PyPI's known vulnerabilities. Exit code 1: one of them has some.

Without PyPI's service nothing is known, so nothing fails: the last line says how many packages were looked up."""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements-dev.lock"


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--format=json", "--progress-spinner=off"]
    command += ["--disable-pip", "--require-hashes", f"--requirement={LOCK}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  fixed arguments
    try:
        packages = json.loads(run.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
        return said(f"The scan for known vulnerabilities could not run: {reason}", 0)
    looked_up = [package for package in packages if "skip_reason" not in package]
    if not looked_up:
        return said("The scan for known vulnerabilities could not run: PyPI's service answered for no package.", 0)
    found = [(package, one) for package in looked_up for one in package["vulns"]]
    for package, one in found:
        fixed = ", ".join(one["fix_versions"]) or "no version yet"
        said(f"{package['name']} {package['version']}: {one['id']}, fixed in {fixed}", 1)
    return said(f"Known vulnerabilities: {len(found)}, in {len(looked_up)} of {len(packages)} packages.", bool(found))


def said(text: str, code: int) -> int:
    sys.stdout.write(f"{text}\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
