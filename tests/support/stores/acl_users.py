"""The server's users as docs/redis.md has them: the site's own, and the administrator who looks over its shoulder."""

import re
from pathlib import Path
from urllib.parse import quote

DOCUMENT = (Path(__file__).parents[3] / "docs/redis.md").read_text()
SITE, ADMIN, REPLICA, SENTINEL = "retwis", "default", "replica", "sentinel"
# With characters that a URL must not hold as they are.
PASSWORDS = {user: f"only/for:tests@{user}" for user in (REPLICA, SENTINEL)}
PASSWORDS |= {SITE: "only/for:tests@site", ADMIN: "only/for:tests@admin"}


def lines() -> list[str]:
    """The document's `user ...` lines for a server alone, with passwords for its placeholders."""
    return _block("acl")


def sentinel_lines() -> list[str]:
    """The same for servers that sentinels watch over, and that follow each other."""
    return lines() + _block("acl-replication")


def cluster_lines() -> list[str]:
    """The same for the servers of a cluster."""
    more = " ".join(f"+{command}" for command in cluster_only())
    return [f"{line} {more}" if line.startswith(f"user {SITE} ") else line for line in sentinel_lines()]


def proxied_lines() -> list[str]:
    """The same for servers behind a Twemproxy, which can sign in as `default` alone."""
    words = " ".join(word for word in rules() if word != "on" and not word.startswith(">"))
    return [line.replace("<the words of the site's line>", words) for line in _block("acl-twemproxy")]


def lines_of_sentinels() -> list[str]:
    """What stands in the configuration of the sentinels themselves."""
    return _block("sentinel-acl")


def _block(name: str) -> list[str]:
    (block,) = re.findall(rf"^```{name}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    for user, word in {SITE: "SITE", ADMIN: "ADMIN", REPLICA: "REPLICA", SENTINEL: "SENTINEL"}.items():
        block = block.replace(f"{word}-PASSWORD", PASSWORDS[user])
    return block.splitlines()


def rules(of: list[str] | None = None) -> list[str]:
    """The words that say what the site's user may do."""
    (line,) = [line for line in of or lines() if line.startswith(f"user {SITE} ")]
    return line.split()[2:]


def cluster_only() -> list[str]:
    """The commands that the site sends to a cluster besides."""
    (listed,) = re.findall(r"^On a cluster, add: `([^`]*)`", DOCUMENT, re.MULTILINE)
    return [word.removeprefix("+") for word in listed.split()]


def management_only() -> list[str]:
    """The commands that the document takes from a user of the web processes."""
    (listed,) = re.findall(r"^Only management commands and checks send: `([^`]*)`", DOCUMENT, re.MULTILINE)
    return [word.removeprefix("+") for word in listed.split()]


def url(folder: str, user: str = SITE) -> str:
    """Where the server on `<folder>/redis.sock` lets that user in."""
    return f"unix://{credentials(user)}{folder}/redis.sock"


def credentials(user: str = SITE) -> str:
    """The beginning of an address, up to its host."""
    return f"{user}:{quote(PASSWORDS[user], safe='')}@"
