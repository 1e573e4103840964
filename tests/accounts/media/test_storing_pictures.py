"""Pictures in the store: what is written, who pays for it, and what a worker removes."""

import pytest

from accounts.media.repository import CLASSES, Mark, PictureGone, Pictures, QuotaReached, StoreFull, job_of
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from tests.support.pictures import decoded_picture


@pytest.fixture
def pictures(store):
    return Pictures(store)


def _due(raw, key="outbox"):
    """Let each job be due now."""
    for job in raw.zrange(key, 0, -1):
        raw.zadd(key, {job: 1})


def test_a_picture_is_stored_once_under_the_digest_of_its_pixels(pictures, alice, bob, raw, store):
    red = decoded_picture()
    for person in (alice, bob):
        pictures.add(person.user.uid, red)
    assert store.get_bytes(keys.media(red.digest)) == red.files[""]
    assert store.get_bytes(keys.media(f"{red.digest}-600")) == red.files["-600"]
    info = raw.hgetall(f"media_info:{red.digest}")
    assert (info["width"], info["height"], info["owner"], info["sizes"]) == ("900", "600", "1", "-600")
    assert int(info["bytes"]) == red.size == sum(map(len, red.files.values()))
    assert raw.zrange("media_of:1", 0, -1) == raw.zrange("media_of:2", 0, -1) == [red.digest]
    assert raw.zrange("media_sizes", 0, -1, withscores=True) == [(red.digest, red.size)]
    assert raw.zrange(f"media_users:{red.digest}", 0, -1) == ["upload:1:0", "upload:2:0"]
    assert sorted(raw.zrange("outbox", 0, -1)) == [job_of(red.digest, 1), job_of(red.digest, 2)]
    assert pictures.of_user(1, [red.digest])[red.digest].blurhash
    assert pictures.of_user(1, ["0" * 40]) == {}


def test_an_upload_that_nothing_shows_goes_after_a_day(pictures, alice, raw, store):
    red = decoded_picture()
    pictures.add(1, red)
    drain(store, "worker")
    assert raw.exists(f"media:{red.digest}")  # the job is not due
    _due(raw)
    drain(store, "worker")
    assert raw.exists(f"media:{red.digest}")  # due too early: it waits again
    assert raw.zcard("outbox") == 1
    _due(raw)
    raw.zadd(f"media_users:{red.digest}", {"upload:1:0": 1})
    drain(store, "worker")
    assert list(raw.keys("*media*")) == []
    assert raw.zcard("outbox") == 0


def test_a_picture_that_is_going_can_be_neither_posted_nor_uploaded(pictures, alice, raw):
    red = decoded_picture()
    pictures.add(1, red)
    raw.hset(f"media_info:{red.digest}", "going", "1")
    with pytest.raises(PictureGone):
        pictures.add(1, red)
    with pytest.raises(PictureGone):
        pictures.mark(Mark("post", 1, 7), [red.digest])
    assert raw.zrange(f"media_users:{red.digest}", 0, -1) == []


def test_a_picture_of_somebody_else_cannot_be_posted(pictures, alice, bob):
    pictures.add(1, decoded_picture())
    with pytest.raises(PictureGone):
        pictures.mark(Mark("post", 2, 7), [decoded_picture().digest])


def test_a_full_store_and_a_full_account_refuse_pictures(pictures, alice, settings, raw):
    red, blue = decoded_picture(), decoded_picture("blue")
    pictures.add(1, red)
    settings.MEDIA_MEMORY = red.size + 100
    with pytest.raises(StoreFull):
        pictures.add(1, blue)
    pictures.add(1, red)  # it is there already
    settings.MEDIA_MEMORY, settings.MEDIA_QUOTA = 10**9, red.size + 100
    with pytest.raises(QuotaReached):
        pictures.add(1, blue)
    assert not raw.exists(f"media:{blue.digest}")
    assert sorted(set(CLASSES)) == CLASSES


def test_a_deleted_account_takes_its_pictures_with_it(pictures, alice, bob, raw, store):
    from accounts.media.removal import remove_pictures

    red, blue = decoded_picture(), decoded_picture("blue")
    pictures.add(1, red)
    pictures.add(1, blue)
    pictures.add(2, blue)
    list(remove_pictures(store, 1))
    drain(store, "worker")
    assert not raw.exists(f"media:{red.digest}")
    assert raw.exists(f"media:{blue.digest}")  # it is bob's too
    assert not raw.exists("media_of:1")
    assert raw.zrange(f"media_users:{blue.digest}", 0, -1) == ["upload:2:0"]
