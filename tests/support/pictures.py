"""Pictures for tests: made by Pillow, so that the repository has none."""

import hashlib
import io
from functools import cache

from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from accounts.media import decoder, decoding
from accounts.media.decoding import Decoded, Shape
from retwis_site.store.ids import DIGEST


@cache
def picture_file(colour: str = "red", size: tuple[int, int] = (900, 600), kind: str = "PNG") -> bytes:
    """A picture of one colour, as somebody uploads it."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind)
    return file.getvalue()


def uploaded(colour: str = "red", name: str = "photo.png", size: tuple[int, int] = (900, 600)) -> SimpleUploadedFile:
    """The same, in a form."""
    return SimpleUploadedFile(name, picture_file(colour, size), "image/png")


@cache
def moving_file() -> bytes:
    """An animation, as a GIF."""
    file, frames = io.BytesIO(), [Image.new("RGB", (900, 600), colour) for colour in ("red", "blue", "lime")]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=100, loop=0)
    return file.getvalue()


@cache
def decoded_once(content: bytes, shape: Shape) -> Decoded:
    """What `decoded` returns or raises. It is made here: a process of its own takes four times as long."""
    try:
        about, files = decoder.main(shape.wanted, content)
    except decoder.CannotDecode as refused:
        raise decoding._REFUSALS[str(refused)] from refused
    names = [name for name, _ in about.pop("files")]
    digest = hashlib.sha256(b"".join(files)).hexdigest()[:DIGEST]
    return Decoded(digest=digest, files=dict(zip(names, files, strict=True)), **about)


def decoded_picture(colour: str = "red") -> Decoded:
    """The same, decoded."""
    return decoded_once(picture_file(colour), Shape.POST)
