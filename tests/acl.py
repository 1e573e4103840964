"""The server's users as docs/redis.md has them: the site's own, and the administrator who looks over its shoulder."""

import re
from pathlib import Path
from urllib.parse import quote

DOCUMENT = (Path(__file__).parent.parent / "docs/redis.md").read_text()
SITE, ADMIN = "retwis", "default"
# With characters that a URL must not hold as they are.
PASSWORDS = {SITE: "only/for:tests@site", ADMIN: "only/for:tests@admin"}


def lines() -> list[str]:
    """The document's `user ...` lines, with passwords for its placeholders."""
    (block,) = re.findall(r"^```acl\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    block = block.replace("SITE-PASSWORD", PASSWORDS[SITE]).replace("ADMIN-PASSWORD", PASSWORDS[ADMIN])
    return block.splitlines()


def rules() -> list[str]:
    """The words that say what the site's user may do."""
    (line,) = [line for line in lines() if line.startswith(f"user {SITE} ")]
    return line.split()[2:]


def management_only() -> list[str]:
    """The commands that the document takes from a user of the web processes."""
    (listed,) = re.findall(r"^Only management commands and checks send: `([^`]*)`", DOCUMENT, re.MULTILINE)
    return [word.removeprefix("+") for word in listed.split()]


def for_a_cluster() -> list[str]:
    """The words that it adds on a cluster."""
    (listed,) = re.findall(r"^On a Redis Cluster .*: add `([^`]*)`", DOCUMENT, re.MULTILINE)
    return listed.split()


def url(folder: str, user: str = SITE) -> str:
    """Where the server on `<folder>/redis.sock` lets that user in."""
    return f"unix://{user}:{quote(PASSWORDS[user], safe='')}@{folder}/redis.sock"
