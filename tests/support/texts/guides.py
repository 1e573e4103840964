"""The guides for operators (docs/operating.md, upgrading.md, customising.md): their commands and files."""

import re
import shlex

from django.conf import settings

_BLOCK = re.compile(r"^ *```(\w+)(?: ([^\n]+))?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def text_of(name: str) -> str:
    return (settings.BASE_DIR / f"docs/{name}.md").read_text()


def commands(name: str) -> list[str]:
    """The lines of the console blocks that begin with a prompt, without their comments, in order."""
    blocks = [text for kind, _, text in _BLOCK.findall(text_of(name)) if kind == "console"]
    return [re.sub(r"  +# .*", "", line) for text in blocks for line in re.findall(r"^ *\$ (.*)$", text, re.MULTILINE)]


def words(command: str) -> list[str]:
    """The words of a command, as the shell reads them, without variables that are set before it."""
    return shlex.split(re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command))


def files(name: str) -> dict[str, str]:
    """The blocks with a path behind their language, by path."""
    return {path: text for _, path, text in _BLOCK.findall(text_of(name)) if path}
