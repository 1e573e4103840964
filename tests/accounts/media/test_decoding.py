"""What may be uploaded becomes clean WebP files; all else is refused, whatever it is called and however large it is.

Most cases call the decoder's own function: to start its process takes half a second."""

import io
import json
import struct
import subprocess
import sys
import zlib

import pillow_heif
import pytest
from PIL import Image, ImageCms, ImageOps, PngImagePlugin

from accounts.media import decoder, decoding
from accounts.media.decoding import NoPicture, PictureTooLarge, Shape, decoded
from tests.support.pictures import picture_file

pillow_heif.register_heif_opener()
HTML = b"<script>alert(1)</script>"


def _opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def _made(content: bytes, shape: Shape = Shape.POST) -> tuple[dict, dict[str, bytes]]:
    """What the decoder says, and its files, as it makes them in its process."""
    about, files = decoder.main(shape.wanted, content)
    return about, dict(zip([name for name, _ in about["files"]], files, strict=True))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def _bomb(width: int, height: int) -> bytes:
    """A small PNG that says of itself that it is large."""
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x06\0\0\0"
    content = zlib.compress(bytes(100_000), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", content) + _chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "HEIF", "AVIF", "MPO"])
def test_each_format_becomes_a_webp_of_two_sizes(kind):
    about, files = _made(picture_file("red", (1800, 900), kind))
    assert (about["width"], about["height"]) == (1600, 800)
    assert {name: _opened(file).size for name, file in files.items()} == {"": (1600, 800), "-600": (600, 300)}
    assert {_opened(file).format for file in files.values()} == {"WEBP"}
    red, green, blue = _opened(files[""]).convert("RGB").getpixel((800, 400))
    assert red > 240
    assert green < 20
    assert blue < 20


def test_nothing_of_a_photo_survives_but_its_pixels():
    """Turned upright and in sRGB; two such photos with other words in them are the same picture."""
    made = set()
    for words in ("A secret place", "Another secret"):
        about = Image.Exif()
        about[0x0112], about[0x010E] = 6, words  # turned by 90 degrees, described
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        file = io.BytesIO()
        Image.new("RGB", (300, 100), "red").save(file, "JPEG", exif=about, icc_profile=profile, comment=words)
        about, files = _made(file.getvalue() + HTML)
        assert (about["width"], about["height"], [*files]) == (100, 300, [""])
        assert not any(part in files[""] for part in (b"EXIF", b"ICCP", b"XMP", words.encode(), HTML))
        made.add(files[""])
    assert len(made) == 1


def test_a_profile_picture_is_the_middle_of_it_and_a_header_has_its_shape():
    made = decoded(picture_file("blue", (900, 300), "PNG"), Shape.PROFILE)
    assert {name: _opened(file).size[0] for name, file in made.files.items()} == {"": 192, "-96": 96, "-48": 48}
    header, _ = _made(picture_file("blue", (900, 900), "PNG"), Shape.HEADER)
    assert (header["width"], header["height"]) == (900, 300)


def test_transparency_palettes_and_deep_greys_are_read():
    for mode, kind in (("RGBA", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("1", "PNG"), ("I;16", "PNG"), ("CMYK", "JPEG")):
        file = io.BytesIO()
        Image.new(mode, (40, 30)).save(file, kind)
        assert _made(file.getvalue())[0]["width"] == 40, mode


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_colour_that_stands_for_transparency_is_transparent_in_any_colour_space(mode):
    picture = Image.new(mode, (40, 30), "red")
    picture.paste("blue", (20, 0, 40, 30))
    for profile in (None, ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()):
        file = io.BytesIO()
        picture.save(file, "PNG", transparency=picture.getpixel((0, 0)), icc_profile=profile)
        made = _opened(_made(file.getvalue())[1][""]).convert("RGBA")
        assert [made.getpixel(at)[3] for at in ((5, 5), (35, 5))] == [0, 255]


def _row(depth: int, samples: list[int]) -> bytes:
    """A row of a PNG, with its filter."""
    bits = "".join(f"{sample:0{depth}b}" for sample in samples)
    return b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")


@pytest.mark.parametrize(
    ("depth", "shown", "clear"),
    [(2, [3], [1]), (4, [15], [5]), (16, [50_000], [10_000]), (16, [50_000, 1000, 2000], [1000, 2000, 60_000])],
)
def test_a_colour_that_stands_for_transparency_is_transparent_in_samples_of_any_depth(depth, shown, clear):
    header = (40).to_bytes(4, "big") * 2 + bytes([depth, 2 if len(shown) == 3 else 0, 0, 0, 0])
    named = b"".join(sample.to_bytes(2, "big") for sample in clear)
    pixels = zlib.compress(_row(depth, shown * 20 + clear * 20) * 40)
    chunks = _chunk(b"IHDR", header) + _chunk(b"tRNS", named) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")
    made = _opened(_made(b"\x89PNG\r\n\x1a\n" + chunks)[1][""]).convert("RGBA")
    assert [made.getpixel(at)[3] for at in ((5, 5), (35, 5))] == [255, 0]


def test_transparency_that_changes_from_pixel_to_pixel_makes_no_picture_too_large(monkeypatch):
    """As that of smoke. WebP keeps transparency as it is, whatever the quality of the colours."""
    monkeypatch.setattr(decoder, "LARGEST_FILE", 60_000)
    picture, file = Image.new("RGB", (400, 400), "white"), io.BytesIO()
    picture.putalpha(Image.effect_noise((400, 400), 20))
    picture.save(file, "PNG")
    assert _opened(_made(file.getvalue())[1][""]).mode == "RGBA"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_exif_that_cannot_be_read_refuses_no_picture(kind):
    file = io.BytesIO()
    Image.new("RGB", (40, 30)).save(file, kind, exif=b"Exif\0\0garbage")
    assert _made(file.getvalue())[0]["width"] == 40


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_photo_is_turned_whatever_else_its_exif_says(kind):
    """A resolution that is a text: programs write it, and Pillow cannot write it again."""
    turned, resolution = (0x0112, 3, 1, b"\6\0\0\0"), (0x011A, 2, 4, b"abc\0")
    entries = b"".join(struct.pack("<HHI4s", *entry) for entry in (turned, resolution))
    file = io.BytesIO()
    exif = b"Exif\0\0II*\0\x08\0\0\0\2\0" + entries + bytes(4)
    Image.new("RGB", (40, 30)).save(file, kind, exif=exif)
    assert _made(file.getvalue())[0]["width"] == 30


@pytest.mark.parametrize("orientation", range(1, 9))
def test_each_orientation_turns_a_picture_as_pillow_turns_it(orientation):
    picture, told, file = Image.effect_noise((40, 30), 90).convert("RGB").resize((4, 3)), Image.Exif(), io.BytesIO()
    told[0x0112] = orientation
    picture.save(file, "PNG", exif=told)
    upright = decoder._upright(_opened(file.getvalue()))
    assert upright.tobytes() == ImageOps.exif_transpose(_opened(file.getvalue())).tobytes()


def test_much_that_is_said_beside_the_pixels_refuses_no_picture():
    """Programs write megabytes of their own into a PNG, and browsers show it."""
    words = PngImagePlugin.PngInfo()
    words.add_text("Comment", "x" * 2_000_000, zip=True)
    for more in ({"pnginfo": words}, {"icc_profile": bytes(2_000_000)}):
        file = io.BytesIO()
        Image.new("RGB", (40, 30)).save(file, "PNG", **more)
        assert _made(file.getvalue())[0]["width"] == 40


CORPUS = {
    "nothing": (b"", "format"),
    "a text": (b"hello", "format"),
    "an SVG": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "format"),
    "HTML in a GIF's clothes": (b"GIF89a/*" + HTML, "format"),
    "a PDF": (b"%PDF-1.7\n", "format"),
    "an EPS, which would start a program": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "format"),
    "a TIFF": (picture_file("red", (9, 9), "TIFF"), "format"),
    "half a JPEG": (picture_file("red", (900, 600), "JPEG")[:900], "damaged"),
    "half a PNG": (picture_file()[:300], "damaged"),
    "half an AVIF": (picture_file("red", (900, 600), "AVIF")[:200], "format"),
    "a PNG bomb": (_bomb(60_000, 60_000), "pixels"),
    "a PNG that lies": (_bomb(3000, 3000), "damaged"),
    "a long line": (_bomb(50_000_001, 1), "pixels"),
    "a large GIF in 40 bytes": (b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x08\0\0;", "pixels"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_what_is_no_picture_is_refused(name):
    content, why = CORPUS[name]
    with pytest.raises(decoder.CannotDecode, match=why):
        _made(content)


def _scanned(times: int, size: tuple[int, int]) -> bytes:
    """A progressive JPEG that has its last scan so many times more."""
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, "JPEG", progressive=True)
    content = file.getvalue()
    last = content.rindex(decoder.A_SCAN)
    return content[:-2] + content[last:-2] * times + content[-2:]


def test_a_jpeg_of_many_scans_is_too_large_before_it_is_decoded(monkeypatch):
    """Each scan is work on all of its pixels, and may take few bytes. Of a small picture it does not matter."""
    assert _made(_scanned(100, (90, 60)))[0]["width"] == 90
    monkeypatch.setattr(decoder, "_upright", None)  # nothing is decoded
    with pytest.raises(decoder.CannotDecode, match="pixels"):
        _made(_scanned(100, (8000, 6000)))


def test_a_refusal_comes_out_of_the_process():
    with pytest.raises(NoPicture):
        decoded(b"<svg/>", Shape.POST)
    with pytest.raises(PictureTooLarge):
        decoded(CORPUS["a PNG bomb"][0], Shape.POST)


def test_a_decoder_that_hangs_or_is_killed_refuses_one_picture(monkeypatch, tmp_path):
    decoder = tmp_path / "decoder.py"
    monkeypatch.setattr(decoding, "DECODER", decoder)
    monkeypatch.setattr(decoding, "TIMEOUT", 0.2)
    for program in ("while True: pass", "import os; os.kill(os.getpid(), 9)"):
        decoder.write_text(program)
        with pytest.raises(PictureTooLarge):
            decoded(picture_file(), Shape.POST)


def test_a_web_process_from_before_an_update_has_its_pictures_decoded():
    """An update replaces this file below it."""
    arguments = [sys.executable, "-I", str(decoding.DECODER), json.dumps(Shape.POST.wanted)]
    ended = subprocess.run(arguments, input=b"", capture_output=True, check=False)
    assert json.loads(ended.stdout) == {"refused": "format"}


def test_the_decoder_knows_no_secret_of_the_site(monkeypatch, tmp_path):
    decoder = tmp_path / "decoder.py"
    decoder.write_text("import os, sys; sys.exit(repr(sorted(os.environ)))")
    monkeypatch.setattr(decoding, "DECODER", decoder)
    monkeypatch.setenv("SECRET_KEY", "secret")
    with pytest.raises(decoding.DecoderFailed, match="MALLOC_ARENA_MAX") as failed:
        decoded(b"", Shape.POST)
    assert "SECRET_KEY" not in str(failed.value)
