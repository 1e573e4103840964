"""The Redis users of docs/redis.md: the site, the administrator, replicas and sentinels."""

import re
from pathlib import Path
from urllib.parse import quote

DOCUMENT = (Path(__file__).parents[3] / "docs/redis.md").read_text()
SITE, ADMIN, REPLICA, SENTINEL = "retwis", "default", "replica", "sentinel"
# With characters that must be quoted in a URL.
PASSWORDS = {user: f"only/for:tests@{user}" for user in (REPLICA, SENTINEL)}
PASSWORDS |= {SITE: "only/for:tests@site", ADMIN: "only/for:tests@admin"}


def lines() -> list[str]:
    """The `user ...` lines for a single server, with passwords instead of the placeholders."""
    return _block("acl")


def sentinel_lines() -> list[str]:
    """The lines for a primary and replicas with sentinels."""
    return lines() + _block("acl-replication")


def cluster_lines() -> list[str]:
    """The lines for the servers of a cluster."""
    more = " ".join(f"+{command}" for command in cluster_only())
    return [f"{line} {more}" if line.startswith(f"user {SITE} ") else line for line in sentinel_lines()]


def proxied_lines() -> list[str]:
    """The lines for servers behind a Twemproxy, which can only sign in as `default`."""
    lines = _block("acl-twemproxy")
    words = [word for word in rules() if word != "on" and not word.startswith(">")]
    keys = [word for word in words if word.startswith("~")]
    for placeholder, meant in (("words", words), ("keys", keys)):
        lines = [line.replace(f"<the {placeholder} of the site's line>", " ".join(meant)) for line in lines]
    return lines


def sentinel_config() -> list[str]:
    """The lines for the configuration of the sentinels themselves."""
    return _block("sentinel-acl")


def _block(name: str) -> list[str]:
    (block,) = re.findall(rf"^```{name}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    for user, word in {SITE: "SITE", ADMIN: "ADMIN", REPLICA: "REPLICA", SENTINEL: "SENTINEL"}.items():
        block = block.replace(f"{word}-PASSWORD", PASSWORDS[user])
    return block.splitlines()


def rules(of: list[str] | None = None) -> list[str]:
    """The ACL rules of the site's user, from the documented lines or other ones."""
    (line,) = [line for line in of or lines() if line.startswith(f"user {SITE} ")]
    return line.split()[2:]


def _listed(after: str) -> list[str]:
    """The commands on the line of the document that begins with this pattern."""
    (listed,) = re.findall(rf"^{after} `([^`]*)`", DOCUMENT, re.MULTILINE)
    return [word.removeprefix("+") for word in listed.split()]


def cluster_only() -> list[str]:
    """The additional commands that the site sends to a cluster."""
    return _listed("On a cluster, add:")


def backup_only() -> list[str]:
    """The additional commands that `backup` sends."""
    return _listed("For `manage.py db backup`, add:")


def advice_only() -> list[str]:
    """The additional commands with which `doctor` and `check --deploy` find an unread dump.rdb."""
    return _listed("To find a dump.rdb that the server has not read, .*")


def management_only() -> list[str]:
    """The commands that web processes do not need, according to the document."""
    return _listed("Only management commands and checks send:")


def url(folder: str, user: str = SITE) -> str:
    """The URL of the server on `<folder>/redis.sock` for a user."""
    return f"unix://{credentials(user)}{folder}/redis.sock"


def credentials(user: str = SITE) -> str:
    """User and password for a URL, with the `@` before the host."""
    return f"{user}:{quote(PASSWORDS[user], safe='')}@"
