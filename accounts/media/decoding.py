"""What somebody has uploaded becomes a picture, or is refused: `decoder.py` as a process of its own.

It is a new process of the same Python, started without a fork: so it works under every server, and a library that
crashes, hangs or takes all memory ends nothing but this one upload.
"""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.users.entities import Refused
from retwis_site.server.processes import EVERY
from retwis_site.store.ids import DIGEST

TIMEOUT = 30.0  # seconds; the process limits its own time on the processor
# An arena of the allocator takes 64 MB of its addresses. No setting of the site is there, and so no secret.
ENVIRONMENT = {"MALLOC_ARENA_MAX": "2", "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
DECODER = Path(__file__).with_name("decoder.py")


class Shape(Enum):
    """For what a picture is: its sizes, each with what its name ends with, its greatest width and its greatest
    height in pixels. All but posts have the middle of a picture alone."""

    POST = (("", 1600, 1600), ("-600", 600, 600))
    PROFILE = (("", 192, 192), ("-96", 96, 96), ("-48", 48, 48))
    HEADER = (("", 1500, 500),)

    @property
    def wanted(self) -> dict[str, Any]:
        """What the decoder is told. Only pictures of posts may move."""
        is_post = self is Shape.POST
        return {"sizes": self.value, "crops": not is_post, "moves": is_post}


class PictureRefused(Refused):
    """An upload that does not become a picture."""


class NoPicture(PictureRefused):
    """It is of no format that the site reads."""

    message = _("This is not a picture that the site can read. Choose a JPEG, PNG, WebP, GIF, HEIC or AVIF.")


class PictureDamaged(PictureRefused):
    """It begins as a picture, and cannot be decoded."""

    message = _("This picture is damaged, or only a part of it arrived. Choose it again, or another one.")


class PictureTooLarge(PictureRefused):
    """To decode it would take too much memory or time."""

    message = _("This picture is too large. The limit is 50 megapixels.")


_REFUSALS = {"format": NoPicture, "damaged": PictureDamaged, "pixels": PictureTooLarge}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture as WebP files: by what their names add to the digest, the largest one with an empty text. They have
    nothing but pixels. The digest is that of all files together: so two pictures with one name have the same sizes."""

    digest: str
    width: int  # pixels, of the largest file
    height: int
    files: dict[str, bytes]
    # A hash that is nearly the same for a picture that looks nearly the same (dhash, 32 hex digits); behind that of a
    # picture that was cut, that of the whole one.
    look: str
    blurhash: str

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    @property
    def sizes(self) -> tuple[str, ...]:
        return tuple(self.files)


def decoded(content: bytes, shape: Shape) -> Decoded:
    """The picture in what was uploaded. It takes some tenths of a second, and no round trip. Raises NoPicture,
    PictureDamaged, PictureTooLarge."""
    wanted = json.dumps(shape.wanted | {"processors": [*EVERY]})
    try:
        ended = subprocess.run(  # noqa: S603  what is uploaded is on its standard input alone
            [_python(), "-I", str(DECODER), wanted],
            input=content,
            capture_output=True,
            timeout=TIMEOUT,
            env=ENVIRONMENT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PictureTooLarge from error
    if ended.returncode < 0:  # killed: it took too much time, or a library has crashed
        raise PictureTooLarge
    if ended.returncode:
        raise DecoderFailed(ended.stderr[-2000:].decode(errors="replace"))
    head, _, rest = ended.stdout.partition(b"\n")
    about: dict[str, Any] = json.loads(head)
    if "refused" in about:
        raise _REFUSALS[about["refused"]]
    files, start = {}, 0
    for name, length in about["files"]:
        files[name], start = rest[start : start + length], start + length
    digest = hashlib.sha256(rest).hexdigest()[:DIGEST]
    return Decoded(digest, about["width"], about["height"], files, about["look"], about["blurhash"])


class DecoderFailed(Exception):
    """The decoder cannot run, such as without its libraries: a fault of the site, not of the upload."""


def _python() -> str:
    """The interpreter: under uWSGI, `sys.executable` is uWSGI."""
    own = Path(sys.prefix, "bin", "python3")
    return str(own) if own.exists() else sys.executable
