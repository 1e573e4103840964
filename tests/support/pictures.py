"""Pictures for tests: made by Pillow, so that the repository has none."""

import io
from functools import cache

from PIL import Image

from accounts.media.decoding import Decoded, Shape, decoded


@cache
def picture_file(colour: str = "red", size: tuple[int, int] = (900, 600), kind: str = "PNG") -> bytes:
    """A picture of one colour, as somebody uploads it."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind)
    return file.getvalue()


decoded_once = cache(decoded)  # a process takes most of a second, and many tests upload the same


def decoded_picture(colour: str = "red") -> Decoded:
    """The same, decoded."""
    return decoded_once(picture_file(colour), Shape.POST)
