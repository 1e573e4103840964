"""An animation: its first frame stands still, and a small file beside it moves where the viewer allows motion."""

import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image, ImageCms

from accounts.media import decoder
from accounts.media.decoding import Shape
from retwis_site.jobs.worker import drain
from tests.support.maintenance.site_files import export, import_, of_type
from tests.support.pictures import decoded_once, moving_file
from tests.support.stored_keys import empty
from timeline.posts.repository import Posts

pytestmark = pytest.mark.usefixtures("quick_decoder")
COLOURS = ("red", "blue", "lime")


def animation(kind="GIF", size=(900, 600), colours=COLOURS, duration=100):
    frames = [Image.new("RGB", size, colour) for colour in colours]
    file = io.BytesIO()
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], duration=duration, loop=0)
    return file.getvalue()


GIF = moving_file()


def made(content, shape=Shape.POST):
    about, files = decoder.main(shape.wanted, content)
    return dict(zip([name for name, _ in about["files"]], files, strict=True))


def opened(file):
    return Image.open(io.BytesIO(file))


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_has_a_still_file_of_each_size_and_one_that_moves(kind):
    files = made(animation(kind))
    assert [*files] == ["", "-600", "-animated"]
    assert [getattr(opened(file), "n_frames", 1) for file in files.values()] == [1, 1, 3]
    moving = opened(files["-animated"])
    assert moving.size == (480, 320)
    assert moving.info["loop"] == 17  # 0.3 seconds each, five seconds together: then it stands still
    moving.seek(1)
    assert moving.convert("RGB").getpixel((9, 9))[2] > 200
    assert moving.info["duration"] == 100


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_each_frame_is_shown_as_long_as_browsers_show_it(kind):
    moving = opened(made(animation(kind, duration=[500, 40, 10]))["-animated"])
    shown = []
    for number in range(3):
        moving.seek(number)
        moving.load()
        shown.append(moving.info["duration"])
    assert shown == [500, 40, 100]  # one of 10 milliseconds or less takes 100


def test_a_picture_for_programs_that_do_not_move_an_apng_is_none_of_its_frames():
    file = io.BytesIO()
    frames = [Image.new("RGB", (90, 60), colour) for colour in COLOURS]
    Image.new("RGB", (90, 60), "white").save(file, "PNG", save_all=True, append_images=frames, default_image=True)
    files = made(file.getvalue())
    assert opened(files["-animated"]).n_frames == len(COLOURS)
    assert opened(files[""]).convert("RGB").getpixel((9, 9)) == (255, 255, 255)


@pytest.mark.parametrize("kind", ["WEBP", "PNG"])
def test_it_is_turned_upright_and_in_srgb_as_its_still_picture_is(kind):
    turned, file = Image.Exif(), io.BytesIO()
    turned[0x0112] = 6
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    green_is_red = srgb.replace(b"rXYZ", b"____").replace(b"gXYZ", b"rXYZ").replace(b"____", b"gXYZ")
    frames = [Image.new("RGB", (900, 600), colour) for colour in ("lime", "blue")]
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], exif=turned, icc_profile=green_is_red)
    files = made(file.getvalue())
    assert [opened(files[each]).size for each in ("", "-600", "-animated")] == [(600, 900), (400, 600), (320, 480)]
    for each in ("", "-animated"):
        red, green, _ = opened(files[each]).convert("RGB").getpixel((9, 9))
        assert red > 200 > 50 > green, each


def test_a_profile_picture_and_what_stands_still_have_none():
    assert "-animated" not in made(GIF, Shape.PROFILE)
    assert "-animated" not in made(animation(colours=["red"]))


def test_beyond_its_bounds_an_animation_stands_still(monkeypatch):
    for name, value in (("MOST_FRAMES", 2), ("MOST_MOVING_PIXELS", (10, 10**9)), ("MOST_MOVING_PIXELS", (10**9, 10))):
        with monkeypatch.context() as changed:
            changed.setattr(decoder, name, value)
            assert [*made(GIF)] == ["", "-600"]
    noise = [Image.effect_noise((500, 500), 200) for _ in range(4)]
    file = io.BytesIO()
    noise[0].save(file, "GIF", save_all=True, append_images=noise[1:], duration=1)
    monkeypatch.setattr(decoder, "LARGEST_FILE", 150_000)
    files = made(file.getvalue())
    assert opened(files["-animated"]).size == (320, 320)  # too large in the first size
    monkeypatch.setattr(decoder, "LARGEST_FILE", len(files["-animated"]) - 1)
    monkeypatch.setattr(decoder, "QUALITIES", [(1, 1)])
    assert decoder._animation(file.getvalue()) is None


def test_an_animation_that_is_cut_off_stands_still():
    assert "-animated" not in made(GIF[: len(GIF) * 2 // 3])


@pytest.fixture
def pid(browser, alice, raw):
    file = SimpleUploadedFile("moves.gif", GIF, "image/gif")
    assert browser(alice).post("/post/", {"body": "Look", "picture": file, "alt": "Colours"}).status_code == 302
    return 1


def test_a_card_and_the_large_page_show_it_where_motion_is_allowed(browser, pid, raw):
    digest = decoded_once(GIF, Shape.POST).digest
    assert json.loads(raw.hget("post:1", "media"))["pictures"][0][6] == "-animated"
    source = f'<source media="(prefers-reduced-motion: no-preference)" srcset="/media/{digest}-animated.webp">'
    for path, still in (("/@Alice/1/", f"{digest}-600"), ("/@Alice/1/pictures/1/", digest)):
        assert f'<picture>{source}<img src="/media/{still}.webp"' in browser().get(path).content.decode()
    answer = browser().get(f"/media/{digest}-animated.webp")
    assert raw.exists(f"media:{digest}-animated")
    assert answer.content == decoded_once(GIF, Shape.POST).files["-animated"]
    assert json.loads(browser().get("/api/v1/statuses/1").content)["media_attachments"][0]["type"] == "image"


def test_it_counts_for_the_quota_and_goes_with_the_post(store, pid, raw):
    picture = decoded_once(GIF, Shape.POST)
    assert raw.zscore("media_of:1", picture.digest) == picture.size == sum(map(len, picture.files.values()))
    Posts(store).delete(1, 1)
    drain(store, "worker")
    assert list(raw.keys("*media*")) == []


def test_the_file_of_the_site_has_it(pid, browser, raw, tmp_path):
    digest, path = decoded_once(GIF, Shape.POST).digest, tmp_path / "site.jsonl"
    content = export(path)
    assert {line["size"] for line in of_type(content, "picture_file")} == {"", "-600", "-animated"}
    empty(raw)
    import_(path)
    assert raw.exists(f"media:{digest}-animated")
    assert f"{digest}-animated.webp" in browser().get("/@Alice/1/").content.decode()


def test_a_picture_that_says_something_else_of_its_animation_is_not_shown(pid, browser, raw):
    media = json.loads(raw.hget("post:1", "media"))
    media["pictures"][0][6] = "/../x"
    raw.hset("post:1", "media", json.dumps(media))
    assert "/media/" not in browser().get("/@Alice/1/").content.decode()
