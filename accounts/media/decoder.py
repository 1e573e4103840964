"""A program that decodes one picture: what a stranger has sent on standard input, clean WebP files on standard output.

`decoding.py` runs it as a process of its own, with limits of memory and time: the libraries that read pictures are
large, and written in C. It is a script, and imports nothing of the site.

    decoder.py '{"sizes": [["", 1600, 1600], ["-600", 600, 600]], "crops": false, "moves": true, "processors": [0, 1]}'

The output begins with a line of JSON: why the picture is refused, or what was made. Then the files follow, each with
as many bytes as the line says. Nothing of the input is in them but its pixels: turned upright, and in sRGB.
"""

import io
import json
import os
import resource
import sys
from contextlib import suppress
from itertools import islice
from typing import Any

MEMORY = 1 << 30  # bytes of addresses
SECONDS = 10  # of the processor
NICENESS = 5  # a page gets three times its time
MOST_PIXELS = 50_000_000  # a large phone has 48 million; four bytes each
# Of all scans of a JPEG. A progressive one has ten as a rule, and thirty of 50 million pixels take a second or two.
MOST_SCANNED_PIXELS = 30 * MOST_PIXELS
A_SCAN = b"\xff\xda"  # with it each begins; no data has it
LONGEST_SIDE = 3200  # pixels, before the sizes are made
LARGEST_FILE = 640 * 1024  # bytes of each: a line of `export` has it in base64
# Of the colours, and of transparency, of which 100 changes nothing: the first with which a file is small enough.
QUALITIES = (80, 100), (60, 60), (40, 40), (20, 20)
# An animation: beside the still picture, within these bounds. One beyond them stays still.
ANIMATED = "-animated"  # what its name adds to the digest
ANIMATED_SIDES = (480, 60), (320, 40)  # pixels, and the quality; the first with which the file is small enough
MOST_FRAMES = 250
MOST_MOVING_PIXELS = 100_000_000, 24_000_000  # of all frames, as they come and as they are kept
SHORTEST_FRAME, USUAL_FRAME = 11, 100  # milliseconds; one that says less takes the usual time, as in browsers
MOVES_FOR = 5000  # milliseconds: it is repeated for so long, and played at least once
JPEGS = ("JPEG", "MPO")  # an MPO is a JPEG with others behind it
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "HEIF", "AVIF")
# The colour of a PNG that stands for transparency is told in samples of its depth. Pillow reads pixels of eight bits:
EIGHT_BITS = {"L;2": 85, "L;4": 17, "I;16B": 1 / 256, "RGB;16B": 1 / 256}  # what a sample is multiplied by
# By the orientation in EXIF. Pillow's own function also writes all of EXIF again, and fails where it cannot.
TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}


def make_way(processors: list[int]) -> None:
    """Let pages come first: a web worker may stay on one processor, and this process began on the same one."""
    os.nice(NICENESS)
    if processors:
        with suppress(OSError):  # the system has taken these away
            os.sched_setaffinity(0, processors)


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # it writes no file
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class CannotDecode(Exception):
    """Its text is a word: `format`, `pixels` or `damaged`."""


def main(wanted: dict[str, Any], content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """What was made, and the files in the order of the sizes. Raises CannotDecode."""
    import blurhash
    import dhash
    from PIL import Image, PngImagePlugin, UnidentifiedImageError
    from pillow_heif import register_heif_opener

    register_heif_opener()
    Image.MAX_IMAGE_PIXELS = None  # the same is asked below, before a pixel is decoded
    PngImagePlugin.MAX_TEXT_CHUNK = PngImagePlugin.MAX_TEXT_MEMORY  # 64 MB of a PNG's words, be it in one piece
    try:
        picture = Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise CannotDecode("format") from error
    except Exception as error:  # what a library raises for a broken header is its own affair
        raise CannotDecode("damaged") from error
    pixels = picture.width * picture.height
    if pixels > MOST_PIXELS or (picture.format in JPEGS and pixels * content.count(A_SCAN) > MOST_SCANNED_PIXELS):
        raise CannotDecode("pixels")
    try:
        upright = _upright(picture)
    except MemoryError as error:
        raise CannotDecode("pixels") from error
    except Exception as error:
        raise CannotDecode("damaged") from error
    made = {name: _resized(upright, width, height, wanted["crops"]) for name, width, height in wanted["sizes"]}
    largest = made[""]
    # A smaller size of a picture that is small already is the picture itself.
    kept = [name for name, one in made.items() if wanted["crops"] or not name or one.size != largest.size]
    files = {name: _as_webp(made[name]) for name in kept}
    try:
        moving = _animation(content) if wanted["moves"] else None
    except Exception:  # frames that are damaged, or take too much memory: the first one is there
        moving = None
    if moving is not None:
        files[ANIMATED] = moving
    small = largest.convert("RGB")
    small.thumbnail((32, 32))
    shown = [largest, upright] if wanted["crops"] else [largest]  # the whole is what a post has
    about = {
        "width": largest.width,
        "height": largest.height,
        "files": [[name, len(file)] for name, file in files.items()],
        "look": " ".join(dhash.format_hex(*dhash.dhash_row_col(one)) for one in shown),
        "blurhash": blurhash.encode(small, 4, 3),
    }
    return about, [*files.values()]


def _upright(picture: Any) -> Any:
    """The first frame, as it is meant to be seen, at most LONGEST_SIDE long."""
    picture.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # a JPEG is decoded at a fraction of its size
    profile = picture.info.get("icc_profile")
    scale = EIGHT_BITS.get(picture.tile[0].args) if "transparency" in picture.info else None
    picture.load()
    orientation = _orientation(picture)
    if scale is not None:
        clear = picture.info["transparency"]
        scaled = tuple(int(one * scale) for one in clear) if isinstance(clear, tuple) else int(clear * scale)
        picture.info["transparency"] = scaled
    if picture.mode.startswith(("I", "F")):  # 16 bits of grey
        picture = picture.point(lambda value: value * (1 / 256)).convert("L")
    if picture.mode in {"1", "P", "PA"} or "transparency" in picture.info:
        picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), reducing_gap=3.0)
    return _as_meant(picture, orientation, profile)


def _orientation(picture: Any) -> int:
    """How the picture is to be turned, in the words of EXIF; 1, which is upright, where that cannot be read."""
    try:
        turned: int = picture.getexif().get(0x0112, 1)
    except Exception:  # what a library raises for it is its own affair; browsers show such a picture too
        return 1
    return turned


def _as_meant(picture: Any, orientation: int, profile: bytes | None) -> Any:
    """The picture turned as it is meant to be seen, in sRGB: RGB or RGBA."""
    from PIL import Image

    if orientation in TURNS:
        picture = picture.transpose(Image.Transpose[TURNS[orientation]])
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    picture = _in_srgb(picture, profile, mode) if profile else picture.convert(mode)
    picture.info = {}  # Pillow would write what the file said of itself
    return picture


def _animation(content: bytes) -> bytes | None:
    """The frames of an animation, small; None of a picture that stands still, and of what is too large. Without the
    picture that an APNG has for programs that do not move it."""
    from PIL import Image, ImageSequence

    picture: Any = Image.open(io.BytesIO(content), formats=FORMATS)
    if not getattr(picture, "is_animated", False) or picture.format not in {"GIF", "WEBP", "PNG"}:
        return None
    largest = _within(picture.size, ANIMATED_SIDES[0][0])
    pixels = [picture.n_frames * width * height for width, height in (picture.size, largest)]
    if picture.n_frames > MOST_FRAMES or any(are > most for are, most in zip(pixels, MOST_MOVING_PIXELS, strict=True)):
        return None
    orientation, profile = _orientation(picture), picture.info.get("icc_profile")
    frames, durations = [], []
    for frame in islice(ImageSequence.Iterator(picture), int(picture.info.get("default_image", False)), None):
        small = frame.convert("RGBA").resize(largest, Image.Resampling.BILINEAR)
        frames.append(_as_meant(small, orientation, profile))
        duration = int(frame.info.get("duration") or 0)  # a WebP says it once the frame is decoded
        durations.append(duration if duration >= SHORTEST_FRAME else USUAL_FRAME)
    repeats = max(1, round(MOVES_FOR / sum(durations)))
    for side, quality in ANIMATED_SIDES:
        size = _within(frames[0].size, side)
        file, frames = io.BytesIO(), [frame.resize(size, Image.Resampling.BILINEAR) for frame in frames]
        further = {"save_all": True, "append_images": frames[1:], "duration": durations, "loop": repeats}
        frames[0].save(file, "WEBP", quality=quality, method=1, **further)
        if file.tell() <= LARGEST_FILE:
            return file.getvalue()
    return None


def _within(size: tuple[int, int], longest: int) -> tuple[int, int]:
    scale = min(1.0, longest / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _in_srgb(picture: Any, profile: bytes, mode: str) -> Any:
    from PIL import ImageCms

    if picture.mode not in {"L", "RGB", "CMYK"}:  # there is no transform of transparency: its pixels stay as they are
        colours, alpha = picture.convert("RGB"), picture.convert("RGBA").getchannel("A")
        changed = _in_srgb(colours, profile, "RGB")
        changed.putalpha(alpha)
        return changed
    try:
        own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        changed = ImageCms.profileToProfile(picture, own, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError):  # a profile that is broken, or of another kind of colours
        changed = picture.convert("RGB")
    return changed.convert(mode)


def _resized(picture: Any, width: int, height: int, crops: bool) -> Any:
    """No side grows. `crops`: the middle of it, in this shape."""
    from PIL import Image, ImageOps

    if crops:
        scale = min(1.0, picture.width / width, picture.height / height)
        return ImageOps.fit(picture, (max(1, round(width * scale)), max(1, round(height * scale))))
    copy = picture.copy()
    copy.thumbnail((width, height), Image.Resampling.LANCZOS)
    return copy


def _as_webp(picture: Any) -> bytes:
    for quality, alpha_quality in QUALITIES:
        file = io.BytesIO()
        picture.save(file, "WEBP", quality=quality, alpha_quality=alpha_quality, method=4)
        if file.tell() <= LARGEST_FILE:
            return file.getvalue()
    raise CannotDecode("pixels")


if __name__ == "__main__":
    limit()
    wanted = json.loads(sys.argv[1])
    make_way(wanted.get("processors", []))  # a web process from before an update names none
    try:
        about, files = main(wanted, sys.stdin.buffer.read())
    except CannotDecode as refused:
        about, files = {"refused": str(refused)}, []
    except MemoryError:
        about, files = {"refused": "pixels"}, []
    sys.stdout.buffer.write(json.dumps(about).encode() + b"\n" + b"".join(files))
