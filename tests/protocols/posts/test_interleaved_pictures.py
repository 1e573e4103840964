"""Changes of the pictures of a post, uploads, posts, deletions and the worker that removes pictures, interleaved and
killed at every moment: no change undoes another one, no post shows a picture that is not there, and nothing is left of
the pictures of a deleted post; a day later no picture is there that no post shows."""

import json
from functools import partial

import pytest

from accounts.community.acts import blocked_as, remove_picture
from accounts.community.log import Act
from accounts.media.profiles import ProfilePicture, ProfilePictureChecks, ProfilePictures
from accounts.media.repository import PictureRefused, Pictures
from retwis_site.exceptions import StoreError
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.command_output import findings_of
from tests.support.pictures import decoded_picture
from tests.support.protocols.interleaving import attempt, carry_out, interleave, take_all_over
from tests.support.protocols.small_site import ALICE, BOB, make_small_site
from tests.support.stored_keys import drain_due, empty, noted
from tests.support.stores.seam import before_part, each_moment, examples, killed_before_part, killed_before_round_trip
from timeline.moderation.reports import NewReport, Reason, Reports
from timeline.posts.composer import new_token
from timeline.posts.entities import Media, NewPost, NoSuchPost, Picture, PostDeleted
from timeline.posts.pictures import describe, remove_by_staff
from timeline.posts.repository import Posts

RUNS_OF_CHANGES = 30  # seeds for each scenario
COLOURS = ("red", "blue", "lime")
RED, BLUE, LIME = (decoded_picture(colour).digest for colour in COLOURS)


def remove(store, pid, digest):
    act = Act(what="", by=BOB, whom=ALICE, post=pid)
    return attempt(lambda: remove_by_staff(store, act, digest, ""), StoreError)


def say(store, pid, **alts):
    named = {decoded_picture(colour).digest: alt for colour, alt in alts.items()}
    return attempt(lambda: describe(store, ALICE, pid, named), NoSuchPost, StoreError)


def delete(store, pid, uid=ALICE):
    return attempt(lambda: Posts(store).delete(uid, pid), NoSuchPost, PostDeleted, StoreError)


def shown(raw, pid):
    media = raw.hget(f"post:{pid}", "media")
    return {one[0]: one[3] for one in json.loads(media)["pictures"]} if media else {}


CHANGES = {
    "two moderators": (lambda s, p: [remove(s, p, RED), remove(s, p, BLUE)], {LIME: ""}),
    "three moderators": (lambda s, p: [remove(s, p, one) for one in (RED, BLUE, LIME)], {}),
    "a moderator and an edit": (
        lambda s, p: [remove(s, p, RED), say(s, p, red="Red", blue="Blue")],
        {BLUE: "Blue", LIME: ""},
    ),
    "two edits of two descriptions, and a moderator": (
        lambda s, p: [say(s, p, red="Red"), say(s, p, blue="Blue"), remove(s, p, LIME)],
        {RED: "Red", BLUE: "Blue"},
    ),
}


def post_with_pictures(store, raw, layout):
    make_small_site(raw, layout)
    Memory.clear_all()
    for colour in COLOURS:
        Pictures(store).add(ALICE, decoded_picture(colour))
    media = Media(tuple(Picture(digest) for digest in (RED, BLUE, LIME)))
    return Posts(store).publish(ALICE, NewPost("Look", media=media), "t").pid


@pytest.mark.parametrize("scenario", CHANGES)
def test_no_change_undoes_another_one(store, raw, layout, scenario):
    changes, left = CHANGES[scenario]
    for seed in range(examples(RUNS_OF_CHANGES)):
        pid = post_with_pictures(store, raw, layout)
        interleave(seed, 0, changes(store, pid))
        assert shown(raw, pid) == left, seed
        drain_due(store, raw)
        assert {*raw.zrange("media_sizes", 0, -1)} == {*left}, seed


def a_minute_passes(raw):
    """A worker that said of a picture that it is going, and was killed, is no longer waited for."""
    for key in raw.keys("media_info:*"):
        if raw.hexists(key, "going"):
            raw.hset(key, "going", 1)


@pytest.mark.parametrize("scenario", CHANGES)
def test_a_worker_finishes_the_changes_of_killed_processes(store, raw, layout, scenario):
    """A change whose job is there is done in the end; one that was killed before may be missing. A job that comes twice
    changes nothing."""
    changes, left = CHANGES[scenario]
    for seed in range(examples(RUNS_OF_CHANGES)):
        pid = post_with_pictures(store, raw, layout)
        interleave(seed, 2, [*changes(store, pid), lambda: take_all_over(store)])
        a_minute_passes(raw)
        drain_due(store, raw)
        assert noted(raw) == []
        now, fields = shown(raw, pid), raw.hgetall(f"post:{pid}")
        removed = {name.partition(":")[2] for name in fields if name.startswith("removed:")}
        assert now.keys() == {RED, BLUE, LIME} - removed, seed
        assert {*raw.zrange("media_sizes", 0, -1)} == {*now}, seed
        assert removed.isdisjoint(left), seed
        said = {name.partition(":")[2]: alt for name, alt in fields.items() if name.startswith("alt:")}
        assert said == {digest: alt for digest, alt in now.items() if alt}, seed


def test_nothing_of_the_pictures_of_a_deleted_post_is_left(store, raw, layout):
    for seed in range(examples(RUNS_OF_CHANGES)):
        pid = post_with_pictures(store, raw, layout)
        changes = [say(store, pid, red="Red"), remove(store, pid, BLUE), delete(store, pid)]
        interleave(seed, seed % 2, [*changes, lambda: take_all_over(store)])
        a_minute_passes(raw)
        drain_due(store, raw)
        delete(store, pid)()
        drain(store, "worker")
        names = raw.hkeys(f"post:{pid}")
        assert not [name for name in names if name == "media" or name.startswith("alt:")], (seed, names)
        drain_due(store, raw)
        assert list(raw.zrange("media_sizes", 0, -1)) == [], seed


def test_a_profile_picture_that_comes_while_staff_removes_the_one_before_stays(store, raw):
    act = Act(what="", by=BOB, whom=ALICE)
    for step in each_moment(rounds=5):
        make_small_site(raw)
        for colour in ("red", "blue"):
            Pictures(store).add(ALICE, decoded_picture(colour))
        ProfilePictures(store).choose(ALICE, ProfilePicture.PICTURE, RED)
        choice = lambda: ProfilePictures(store).choose(ALICE, ProfilePicture.PICTURE, BLUE)  # noqa: E731
        with before_part(step, choice) as chosen:
            remove_picture(store, act, ProfilePicture.PICTURE, RED, "")
        drain_due(store, raw)
        assert raw.hget("user:1", "picture") == (BLUE if chosen else None), step
        assert raw.exists(f"media:{BLUE}"), step


def test_a_profile_picture_that_comes_while_doctor_takes_out_a_lost_one_stays(store, raw):
    for step in each_moment():
        make_small_site(raw)
        raw.hset("user:1", "picture", "f" * 40)
        Pictures(store).add(ALICE, decoded_picture("blue"))
        choice = lambda: ProfilePictures(store).choose(ALICE, ProfilePicture.PICTURE, BLUE)  # noqa: E731
        with before_part(step, choice) as chosen:
            for found in findings_of(store, ProfilePictureChecks(store).inconsistencies()):
                found.repair()
        assert raw.hget("user:1", "picture") == (BLUE if chosen else None), step


LOOK = "f0" * 16


def test_a_block_that_a_worker_repeats_when_the_picture_is_gone_knows_how_it_looks(store, raw, layout):
    for step in each_moment():
        pid = post_with_pictures(store, raw, layout)
        raw.hset(f"media_info:{RED}", "look", LOOK)
        act = Act(what="", by=BOB, whom=ALICE, post=pid)
        killed_before_part(step, lambda act=act: remove_by_staff(store, act, RED, blocked_as(store, RED)))
        drain_due(store, raw)
        assert noted(raw) == []
        if RED not in shown(raw, pid):
            assert raw.hgetall("blocked_media") == {RED: LOOK}, step
            assert not raw.exists(f"media_info:{RED}"), step
    assert RED not in shown(raw, pid)


@pytest.mark.parametrize("decides", [False, True], ids=["alone", "by a decision"])
def test_a_block_that_was_killed_before_its_picture_went_knows_how_it_looks(store, raw, layout, decides):
    """Its author deletes the post, and a worker removes the picture before another one repeats the block."""
    found = []
    for step in each_moment():
        pid = post_with_pictures(store, raw, layout)
        raw.hset("staff", BOB, "moderator")
        raw.hset(f"media_info:{RED}", "look", LOOK)
        if decides:
            about = NewReport(ALICE, pid, Reason.OTHER)
            block = partial(Reports(store).delete_picture, about, RED, True, BOB, "No.")
        else:
            act = Act(what="", by=BOB, whom=ALICE, post=pid)
            block = partial(remove_by_staff, store, act, RED, blocked_as(store, RED))
        killed_before_part(step, block)
        Posts(store).delete(ALICE, pid)
        blocks = {job for job in noted(raw) if job.startswith(("staff_picture:", "report:"))}
        if step.has_come and not raw.hlen("blocked_media"):
            for _ in range(3):
                for job in {*noted(raw)} - blocks:
                    carry_out(store, job)
        drain_due(store, raw)
        found.append(raw.hgetall("blocked_media"))
        assert found[-1] in ({}, {RED: LOOK}), step
    assert {} in found
    assert found[-1] == {RED: LOOK}


RUNS_UNDER_WAY = 12  # seeds for each scenario


def upload(store, uid=ALICE):
    return attempt(lambda: Pictures(store).add(uid, decoded_picture()), StoreError, PictureRefused)


def publish(store, uid=ALICE, token=None):
    new = NewPost("Look", media=Media((Picture(decoded_picture().digest),)))
    return attempt(lambda: Posts(store).publish(uid, new, token or new_token()), StoreError, PictureRefused)


def a_day_passes(raw, store):
    """Marks and jobs are a day old. A job of a picture waits for that of a post, and may leave another one."""
    for _ in range(3):
        for key in raw.keys("media_users:*"):
            for member in raw.zrange(key, 0, -1):
                raw.zadd(key, {member: 1})
        a_minute_passes(raw)
        drain_due(store, raw)
    assert noted(raw) == []


def assert_pictures_agree(raw, uids, note):
    shown = set()
    for uid in uids:
        for pid in raw.zrange(f"updates:{uid}", 0, -1):
            media = raw.hget(f"post:{pid}", "media")
            digests = [one[0] for one in json.loads(media)["pictures"]] if media else []
            for digest in digests:
                shown.add(digest)
                assert raw.zscore(f"media_users:{digest}", f"post:{uid}:{pid}") is not None, note
                assert raw.zscore(f"media_of:{uid}", digest) is not None, note
    for digest in shown:
        assert raw.exists(f"media:{digest}") == raw.exists(f"media:{digest}-600") == 1, note
        assert raw.hget(f"media_info:{digest}", "width") == "900", note
        assert raw.hget(f"media_info:{digest}", "going") is None, note
    assert {*raw.zrange("media_sizes", 0, -1)} == shown, note
    kept = {
        key.split(":")[1].split("-")[0]
        for kind in ("media", "media_info", "media_users")
        for key in raw.keys(f"{kind}:*")
    }
    assert kept == shown, note


@pytest.mark.parametrize("step", range(18))
def test_a_post_with_a_new_picture_is_killed(store, alice, raw, step):
    """After the kill the same form is sent again, or it is not."""
    for again in (False, True):
        empty(raw)
        raw.hset("user:1", "username", "Alice")
        raw.hset("users", "alice", "1")
        killed_before_round_trip(step, lambda: (upload(store)(), publish(store, token="t")()))
        if again:
            upload(store)()
            publish(store, token="t")()
            assert raw.zcard("updates:1") == 1
        a_day_passes(raw, store)
        assert_pictures_agree(raw, [1], (step, again))
        assert len(raw.keys("media:*")) == 2 * raw.zcard("updates:1")


UNDER_WAY = {
    "an old upload is posted while a worker removes it": lambda s, pid: [publish(s), lambda: take_all_over(s)],
    "it is uploaded again, and posted": lambda s, pid: [lambda: (upload(s)(), publish(s)()), lambda: take_all_over(s)],
    "two people post it, a worker": lambda s, pid: [
        lambda: (upload(s, BOB)(), publish(s, BOB)()),
        publish(s),
        lambda: take_all_over(s),
    ],
    "it is posted again while its post is deleted": lambda s, pid: [
        lambda: (publish(s)(), publish(s)()),
        delete(s, pid),
        lambda: take_all_over(s),
    ],
    "staff deletes it while it is posted again": lambda s, pid: [
        publish(s),
        attempt(
            lambda: remove_by_staff(s, Act(what="", by=BOB, whom=ALICE, post=pid), decoded_picture().digest, ""),
            StoreError,
        ),
        lambda: take_all_over(s),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", UNDER_WAY)
def test_posts_show_pictures_that_are_there(store, raw, layout, scenario, kills):
    for seed in range(examples(RUNS_UNDER_WAY)):
        make_small_site(raw, layout)
        upload(store)()
        pid = 0
        if "deleted" in scenario or "staff" in scenario:
            publish(store)()
            [pid] = map(int, raw.zrange("updates:1", 0, -1))
        key = f"media_users:{decoded_picture().digest}"
        raw.zadd(key, dict.fromkeys(raw.zrange(key, 0, -1), 1))
        Memory.clear_all()
        interleave(seed, kills, UNDER_WAY[scenario](store, pid))
        a_day_passes(raw, store)
        drain(store, "worker")
        assert_pictures_agree(raw, [ALICE, BOB], (scenario, seed))


def test_two_workers_with_a_job_each_for_one_picture_remove_none_that_is_posted_meanwhile(store, raw, layout):
    """Each who has uploaded it leaves a job. What one of them finds in use again is not taken from the other one."""
    digest = decoded_picture().digest
    for seed in range(examples(1500)):  # few of the orders tell
        make_small_site(raw, layout)
        upload(store)()
        key = f"media_users:{digest}"
        raw.zadd(key, dict.fromkeys(raw.zrange(key, 0, -1), 1))
        Memory.clear_all()
        workers = [partial(carry_out, store, f"picture:{digest}:1:{number}") for number in range(2)]
        interleave(seed, 0, [publish(store), *workers])
        a_day_passes(raw, store)
        drain(store, "worker")
        assert_pictures_agree(raw, [ALICE], seed)
